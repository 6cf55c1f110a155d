// What a request may say about sampling and stopping. Plain data: std and core only, no libllama.
// Names, defaults and clamps: llama-server-api 1.5. The api room parses and clamps; the text room acts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/ids.h"

namespace kvalet::text {

constexpr std::uint32_t kRandomSeed = 0xFFFFFFFFu;

/// Added to a token's logit before anything else looks at it. -INFINITY forbids the token.
struct LogitBias {
    Token token = 0;
    float bias = 0.0F;
};

struct SamplingParams {
    std::uint32_t seed = kRandomSeed;  // kRandomSeed: drawn once, when the generation is made
    float temperature = 0.8F;          // <= 0: greedy
    float dynatemp_range = 0.0F;
    float dynatemp_exponent = 1.0F;
    std::int32_t top_k = 40;
    float top_p = 0.95F;
    float min_p = 0.05F;
    float typical_p = 1.0F;
    float top_n_sigma = -1.0F;
    float xtc_probability = 0.0F;
    float xtc_threshold = 0.1F;
    std::int32_t repeat_last_n = 64;  // 0: off, -1: the whole context
    float repeat_penalty = 1.0F;
    float frequency_penalty = 0.0F;
    float presence_penalty = 0.0F;
    float dry_multiplier = 0.0F;
    float dry_base = 1.75F;
    std::int32_t dry_allowed_length = 2;
    std::int32_t dry_penalty_last_n = 64;  // -1: the whole context
    std::vector<std::string> dry_sequence_breakers = {"\n", ":", "\"", "*"};
    std::int32_t mirostat = 0;  // 0, 1 or 2
    float mirostat_tau = 5.0F;
    float mirostat_eta = 0.1F;
    float adaptive_target = -1.0F;
    float adaptive_decay = 0.9F;
    std::int32_t min_keep = 0;
    std::int32_t n_probs = 0;  // how many alternatives to report with each token; 0: none
    bool post_sampling_probs = false;
    bool ignore_eos = false;  // every end-of-generation token at -INFINITY
    std::vector<LogitBias> logit_bias;
    /// Names as llama-server takes them: penalties dry top_n_sigma top_k typ_p top_p min_p xtc temperature
    /// adaptive_p.
    std::vector<std::string> samplers = {"penalties", "dry",   "top_n_sigma", "top_k",      "typ_p",
                                         "top_p",     "min_p", "xtc",         "temperature"};
    std::string grammar;  // GBNF with the rule `root`; empty: none
};

struct StopParams {
    std::vector<std::string> stop;  // non-empty strings
    std::int64_t n_predict =
        -1;  // -1: until the model or the context ends it; 0 yields one token, as llama-server does
    std::int64_t n_indent = 0;           // 0: off
    std::int64_t t_max_predict_ms = -1;  // looked at after a newline; -1: off
};

}  // namespace kvalet::text
