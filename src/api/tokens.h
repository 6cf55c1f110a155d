// /tokenize and /detokenize (llama-server-api 1.8).
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "text/text_model.h"

namespace kvalet::api {

/// Body to reply body. Takes time in proportion to the body: for a worker thread.
[[nodiscard]] Result<std::string> tokenize_reply(std::string_view body, const text::TextModel& model);
[[nodiscard]] Result<std::string> detokenize_reply(std::string_view body, const text::TextModel& model);

}  // namespace kvalet::api
