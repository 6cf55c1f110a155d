// The sampling and stopping fields of llama-server-api 1.5.
#pragma once

#include <span>

#include "api/config.h"
#include "api/fields.h"
#include "api/task_params.h"
#include "text/params.h"
#include "text/text_model.h"

namespace kvalet::api {

/// What parsing needs to know of the model. All outlive the parse.
struct ParseContext {
    const ApiConfig& config;
    const text::TextModel& model;
    std::span<const Token> eog_tokens;  // of eog_tokens_of(model), made once
};

/// Alternatives of each token. They are formatted on the io thread in a stream, which must not be held up by
/// one client that asks for the whole vocabulary.
constexpr std::int32_t kMaxProbs = 1024;

/// Entries of logit_bias (a text counts once for each of its tokens), and of `samplers`: far above what
/// anybody needs, far below what a body has room for.
constexpr std::size_t kMaxLogitBias = 65536;
constexpr std::size_t kMaxSamplers = 64;

/// Every end-of-generation token of the vocabulary. One pass over it: make it once per model.
[[nodiscard]] std::vector<Token> eog_tokens_of(const text::TextModel& model);

/// Reads into `sampling`, which holds the defaults. Errors go to the reader.
void parse_sampling(FieldReader& fields, const ParseContext& context, text::SamplingParams& sampling);

/// n_probs. OpenAI's chat asks with a boolean `logprobs` and `top_logprobs`, its completions with an integer
/// `logprobs`.
void parse_probs(FieldReader& fields, const ParseContext& context, Dialect dialect,
                 text::SamplingParams& sampling);

/// Reads into `stop`, which holds the defaults; an empty list of stop strings leaves those of the command
/// line.
void parse_stop(FieldReader& fields, text::StopParams& stop);

/// Sampler names from names ("top-k", "topk", "nucleus", …) or from one string of characters ("edskypmxt");
/// names and characters nobody knows are errors: llama-server skips them with a line in its log, which no
/// client sees.
[[nodiscard]] Result<std::vector<std::string>> samplers_of(const Json& value);

}  // namespace kvalet::api
