// The forms that a prompt may have (llama-server-api 1.5).
#pragma once

#include <vector>

#include "api/json_fwd.h"
#include "core/result.h"
#include "text/text_model.h"

namespace kvalet::api {

/// Prompts in one request: each is a generation of its own and a place in the engine's queue.
constexpr std::size_t kMaxPrompts = 256;

/// Text, or a mix of texts and token ids, to tokens. BOS and the like only when the first element is a text,
/// and special tokens of the texts only with parse_special. `name` is the field's, for messages.
[[nodiscard]] Result<std::vector<Token>> tokenize_mixed(const Json& value, const text::TextModel& model,
                                                        bool add_special, bool parse_special,
                                                        std::string_view name);

/// A string, an array with token ids (strings may be between them), an object with `prompt_string`, or an
/// array of these: several prompts. None comes out empty.
[[nodiscard]] Result<std::vector<std::vector<Token>>> parse_prompts(const Json& prompt,
                                                                    const text::TextModel& model);

}  // namespace kvalet::api
