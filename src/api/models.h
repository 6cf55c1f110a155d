// /models and /props (llama-server-api 1.2).
#pragma once

#include <cstdint>
#include <string>

#include "api/config.h"
#include "text/text_model.h"

namespace kvalet::api {

/// `n_ctx`: the context of one slot.
[[nodiscard]] std::string models_body(const ApiConfig& config, const text::ModelInfo& model,
                                      std::int64_t n_ctx, std::int64_t created_s);

[[nodiscard]] std::string props_body(const ApiConfig& config, const text::ModelInfo& model,
                                     std::int64_t n_ctx);

}  // namespace kvalet::api
