// A whole completion request, from the text of its body.
#pragma once

#include <string>
#include <string_view>

#include "api/json_fwd.h"
#include "api/parse_sampling.h"
#include "api/task_params.h"
#include "core/result.h"

namespace kvalet::api {

/// Generations of one request, over all its prompts: each has a sampler, an outbox and a result in memory.
constexpr std::size_t kMaxGenerations = 256;

/// Paths in response_fields.
constexpr std::size_t kMaxResponseFields = 256;

/// The fields of llama-server-api 1.5 but the prompt. Every field of that table is known: what is not there
/// yet is refused with one sentence (501, or 400 for values that make no sense), unknown names are ignored as
/// llama-server does.
[[nodiscard]] Result<TaskParams> parse_params(const Json& body, Dialect dialect, const ParseContext& context);

/// Body to job. Takes time in proportion to the body: for a worker thread.
[[nodiscard]] Result<CompletionJob> parse_completion(std::string_view body, Dialect dialect,
                                                     const ParseContext& context);

/// The prompt of a chat body, rendered: what /apply-template answers. The parameters are not looked at.
[[nodiscard]] Result<std::string> parse_and_render_chat(const Json& body, const ParseContext& context);

/// Names of P8.4.
[[nodiscard]] std::string_view name_of(SseNotices notices);

}  // namespace kvalet::api
