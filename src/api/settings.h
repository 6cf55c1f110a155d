// `generation_settings` and the reduced `params` of /slots and /props (llama-server-api 1.5).
#pragma once

#include <span>
#include <string>

#include "api/json_fwd.h"
#include "api/task_params.h"

namespace kvalet::api {

/// All keys, in llama-server's order. ignore_eos shows as the end-of-generation tokens at null in logit_bias.
[[nodiscard]] Json generation_settings(const TaskParams& params, std::span<const Token> eog_tokens);

/// Without dry_sequence_breakers, stop, logit_bias, grammar*, preserved_tokens.
[[nodiscard]] Json reduced_settings(const TaskParams& params);

}  // namespace kvalet::api
