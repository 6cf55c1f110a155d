#include "api/settings.h"

#include <limits>

#include "api/json.h"

namespace kvalet::api {

namespace {

Json logit_bias_json(const TaskParams& params, std::span<const Token> eog_tokens) {
    Json list = Json::array();
    for (const text::LogitBias& entry : params.sampling.logit_bias) {
        list.push_back({{"bias", entry.bias}, {"token", entry.token}});
    }
    if (params.sampling.ignore_eos) {
        for (const Token token : eog_tokens) {
            list.push_back({{"bias", -std::numeric_limits<float>::infinity()}, {"token", token}});
        }
    }
    return list;
}

void add_sampling(Json& out, const text::SamplingParams& s, bool full) {
    out["seed"] = s.seed;
    out["temperature"] = s.temperature;
    out["dynatemp_range"] = s.dynatemp_range;
    out["dynatemp_exponent"] = s.dynatemp_exponent;
    out["top_k"] = s.top_k;
    out["top_p"] = s.top_p;
    out["min_p"] = s.min_p;
    out["top_n_sigma"] = s.top_n_sigma;
    out["xtc_probability"] = s.xtc_probability;
    out["xtc_threshold"] = s.xtc_threshold;
    out["typical_p"] = s.typical_p;
    out["repeat_last_n"] = s.repeat_last_n;
    out["repeat_penalty"] = s.repeat_penalty;
    out["presence_penalty"] = s.presence_penalty;
    out["frequency_penalty"] = s.frequency_penalty;
    out["dry_multiplier"] = s.dry_multiplier;
    out["dry_base"] = s.dry_base;
    out["dry_allowed_length"] = s.dry_allowed_length;
    out["dry_penalty_last_n"] = s.dry_penalty_last_n;
    if (full) {
        out["dry_sequence_breakers"] = s.dry_sequence_breakers;
    }
    out["mirostat"] = s.mirostat;
    out["mirostat_tau"] = s.mirostat_tau;
    out["mirostat_eta"] = s.mirostat_eta;
    out["adaptive_target"] = s.adaptive_target;
    out["adaptive_decay"] = s.adaptive_decay;
}

void add_rest(Json& out, const TaskParams& params, std::span<const Token> eog_tokens, bool full) {
    const text::SamplingParams& s = params.sampling;
    if (full) {
        out["stop"] = params.stop.stop;
    }
    out["max_tokens"] = params.stop.n_predict;
    out["n_predict"] = params.stop.n_predict;
    out["n_keep"] = params.n_keep;
    out["n_discard"] = params.n_discard;
    out["ignore_eos"] = s.ignore_eos;
    out["stream"] = params.stream;
    if (full) {
        out["logit_bias"] = logit_bias_json(params, eog_tokens);
    }
    out["n_probs"] = s.n_probs;
    out["min_keep"] = s.min_keep;
    if (full) {
        out["grammar"] = s.grammar;
        out["grammar_lazy"] = false;
        out["grammar_triggers"] = Json::array();
        out["preserved_tokens"] = Json::array();
    }
    out["chat_format"] = "Content-only";
    out["reasoning_format"] = params.reasoning_format;
    out["reasoning_in_content"] = false;
    out["generation_prompt"] = "";
    out["samplers"] = s.samplers;
    out["speculative.types"] = "none";
    out["timings_per_token"] = params.timings_per_token;
    out["post_sampling_probs"] = s.post_sampling_probs;
    out["backend_sampling"] = false;
    out["lora"] = Json::array();
}

}  // namespace

Json generation_settings(const TaskParams& params, std::span<const Token> eog_tokens) {
    Json out = Json::object();
    add_sampling(out, params.sampling, true);
    add_rest(out, params, eog_tokens, true);
    return out;
}

Json reduced_settings(const TaskParams& params) {
    Json out = Json::object();
    add_sampling(out, params.sampling, false);
    add_rest(out, params, {}, false);
    return out;
}

}  // namespace kvalet::api
