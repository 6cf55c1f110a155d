// What the formatters of every dialect share: the facts of one response, and one generation's result.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/json_fwd.h"
#include "api/task_params.h"
#include "engine/events.h"

namespace kvalet::api {

/// The facts of one response, the same for all its generations and events.
struct ReplyContext {
    Dialect dialect = Dialect::native;
    TaskParams params;
    std::string id;           // new_completion_id()
    std::string model;        // model_name()
    std::string fingerprint;  // ApiConfig::build_info
    std::int64_t created_s = 0;
    std::span<const Token> eog_tokens;
    /// The prompts as text with specials, in their order; empty where no reply shows them.
    std::vector<std::string> prompt_texts;
};

/// One generation, collected. In a stream `content`, `tokens` and `probs` stay empty: they have been sent.
struct TaskResult {
    int index = 0;
    std::string content;
    std::vector<Token> tokens;
    std::vector<text::TokenProbs> probs;
    engine::Finished end;
};

/// Text that this is needed for at all (native replies and __verbose show the prompt).
[[nodiscard]] bool shows_prompt(Dialect dialect, const TaskParams& params);

// ---- parts (llama-server-api 1.6, 1.7)
[[nodiscard]] Json timings_json(const engine::Timings& timings);
[[nodiscard]] Json progress_json(const engine::Progress& progress);
[[nodiscard]] Json usage_json(const engine::Finished& end);
[[nodiscard]] Json probs_json(std::span<const text::TokenProbs> probs, bool post_sampling);
[[nodiscard]] std::string_view finish_reason(text::StopType stop);  // "stop" or "length"
[[nodiscard]] std::string_view stop_type_name(text::StopType stop);

/// The values at the paths ("a/b"), each under its path as key; paths that lead nowhere are left out.
[[nodiscard]] Json nested_values(const std::vector<std::string>& paths, const Json& from);

// ---- native
[[nodiscard]] Json native_token(const ReplyContext& context, int index, const engine::TokenOut& token);
[[nodiscard]] Json native_progress(const ReplyContext& context, int index, const engine::Progress& progress);
/// An event that changes nothing: P8.4 `data`.
[[nodiscard]] Json native_empty(const ReplyContext& context, int index);
[[nodiscard]] Json native_final(const ReplyContext& context, const TaskResult& result);

// ---- OpenAI completions
[[nodiscard]] Json oai_token(const ReplyContext& context, int index, const engine::TokenOut& token);
[[nodiscard]] Json oai_progress(const ReplyContext& context, int index, const engine::Progress& progress);
[[nodiscard]] Json oai_empty(const ReplyContext& context, int index);
[[nodiscard]] Json oai_final(const ReplyContext& context, const TaskResult& result);

// ---- OpenAI chat; a token or an end can make several chunks
[[nodiscard]] Json chat_final(const ReplyContext& context, const TaskResult& result);
/// The first chunk of a choice, and the one that carries progress.
[[nodiscard]] Json chat_role(const ReplyContext& context, int index);
[[nodiscard]] std::vector<Json> chat_token(const ReplyContext& context, int index, bool first,
                                           const engine::TokenOut& token);
[[nodiscard]] Json chat_progress(const ReplyContext& context, int index, const engine::Progress& progress);
[[nodiscard]] Json chat_empty(const ReplyContext& context, int index);
[[nodiscard]] std::vector<Json> chat_stream_final(const ReplyContext& context, const TaskResult& result);

/// The body of a reply that is not streamed. Several results: an array for the native dialect; OpenAI's have
/// their choices in the first object. Its usage is that of the first choice of each prompt, summed over the
/// prompts: with n > 1 llama-server as well shows the first choice's. `results` is ordered by index and not
/// empty.
[[nodiscard]] std::string whole_body(const ReplyContext& context, std::span<const TaskResult> results);

}  // namespace kvalet::api
