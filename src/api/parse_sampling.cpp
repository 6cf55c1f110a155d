#include "api/parse_sampling.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "api/json.h"

namespace kvalet::api {

namespace {

constexpr float kMaxFloat = std::numeric_limits<float>::max();
constexpr std::int32_t kMaxInt = std::numeric_limits<std::int32_t>::max();

struct SamplerName {
    char letter;
    std::string_view name;
};
constexpr std::array<SamplerName, 10> kSamplers = {{{'e', "penalties"},
                                                    {'d', "dry"},
                                                    {'s', "top_n_sigma"},
                                                    {'k', "top_k"},
                                                    {'y', "typ_p"},
                                                    {'p', "top_p"},
                                                    {'m', "min_p"},
                                                    {'x', "xtc"},
                                                    {'t', "temperature"},
                                                    {'a', "adaptive_p"}}};

/// Lower case, without the signs that spellings differ in.
std::string folded(std::string_view name) {
    std::string out;
    for (const char c : name) {
        if (c != '-' && c != '_') {
            out.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
        }
    }
    return out;
}

std::string_view sampler_of_name(std::string_view name) {
    const std::string wanted = folded(name);
    for (const SamplerName& known : kSamplers) {
        if (folded(known.name) == wanted) {
            return known.name;
        }
    }
    if (wanted == "nucleus") {
        return "top_p";
    }
    if (wanted == "temp") {
        return "temperature";
    }
    return wanted == "typ" || wanted == "typicalp" ? "typ_p" : std::string_view{};
}

/// A JSON number, or false for "never"; nothing for other kinds.
std::optional<float> bias_of(const Json& value) {
    if (value.is_number()) {
        return static_cast<float>(std::clamp(value.get<double>(), -double{kMaxFloat}, double{kMaxFloat}));
    }
    if (value.is_boolean() && !value.get<bool>()) {
        return -std::numeric_limits<float>::infinity();
    }
    return std::nullopt;
}

class BiasParser {
  public:
    BiasParser(FieldReader& fields, const ParseContext& context, std::vector<text::LogitBias>& out)
        : fields_(fields), context_(context), out_(out) {}

    void parse(const Json& value) {
        if (value.is_array()) {
            for (auto pair = value.begin(); pair != value.end() && fields_.ok(); ++pair) {
                parse_pair(*pair);
            }
        } else if (value.is_object()) {
            for (auto item = value.begin(); item != value.end() && fields_.ok(); ++item) {
                parse_key(item.key(), *item);
            }
        } else {
            fields_.fail("logit_bias", "must be an array of pairs or an object");
        }
    }

  private:
    void parse_pair(const Json& pair) {
        if (!pair.is_array() || pair.size() != 2) {
            fields_.fail("logit_bias", "each entry must be a pair of token and bias");
            return;
        }
        if (pair[0].is_string()) {
            add_text(pair[0].get_ref<const std::string&>(), pair[1]);
        } else if (const std::optional<std::int64_t> id = integer_of(pair[0])) {
            add_token(*id, pair[1]);
        } else {
            fields_.fail("logit_bias", "a token must be an integer or a string");
        }
    }

    void parse_key(const std::string& key, const Json& bias) {
        std::int64_t id = 0;
        const char* end = key.data() + key.size();
        const auto [stopped, error] = std::from_chars(key.data(), end, id);
        if (error == std::errc{} && stopped == end) {
            add_token(id, bias);
        } else {
            add_text(key, bias);
        }
    }

    void add_token(std::int64_t id, const Json& bias) {
        if (id < 0 || id >= context_.model.info().n_vocab) {
            fields_.fail("logit_bias", "token " + std::to_string(id) + " is outside the vocabulary");
            return;
        }
        add(static_cast<Token>(id), bias);
    }

    void add_text(const std::string& text, const Json& bias) {
        const auto tokens = context_.model.tokenize(text, false, false);
        if (!tokens.ok()) {
            fields_.fail("logit_bias", tokens.error().message);
            return;
        }
        for (const Token token : *tokens) {
            add(token, bias);
        }
    }

    void add(Token token, const Json& bias) {
        if (out_.size() >= kMaxLogitBias) {
            fields_.fail("logit_bias", "at most " + std::to_string(kMaxLogitBias) + " tokens");
        } else if (const std::optional<float> value = bias_of(bias)) {
            out_.push_back({token, *value});
        } else {
            fields_.fail("logit_bias", "a bias must be a number or false");
        }
    }

    FieldReader& fields_;
    const ParseContext& context_;
    std::vector<text::LogitBias>& out_;
};

void parse_filters(FieldReader& fields, text::SamplingParams& s) {
    fields.integer({"top_k"}, s.top_k, 0, kMaxInt, OutOfRange::clamp);
    fields.number({"top_p"}, s.top_p, 0.0F, 1.0F);
    fields.number({"min_p"}, s.min_p, 0.0F, 1.0F);
    fields.number({"top_n_sigma"}, s.top_n_sigma);
    fields.number({"xtc_probability"}, s.xtc_probability, 0.0F, 1.0F);
    fields.number({"xtc_threshold"}, s.xtc_threshold, 0.0F, 1.0F);
    fields.number({"typical_p"}, s.typical_p);
    fields.number({"temperature"}, s.temperature, 0.0F, kMaxFloat);
    fields.number({"dynatemp_range"}, s.dynatemp_range);
    fields.number({"dynatemp_exponent"}, s.dynatemp_exponent);
    fields.integer({"mirostat"}, s.mirostat, 0, 2, OutOfRange::clamp);
    fields.number({"mirostat_tau"}, s.mirostat_tau);
    fields.number({"mirostat_eta"}, s.mirostat_eta);
    fields.number({"adaptive_target"}, s.adaptive_target, -kMaxFloat, 1.0F);
    fields.number({"adaptive_decay"}, s.adaptive_decay, 0.0F, 0.99F, OutOfRange::fail);
    fields.integer({"min_keep"}, s.min_keep, 0, kMaxInt);
}

void parse_penalties(FieldReader& fields, text::SamplingParams& s) {
    fields.integer({"repeat_last_n"}, s.repeat_last_n, 0, kMaxInt);
    fields.number({"repeat_penalty"}, s.repeat_penalty);
    fields.number({"frequency_penalty"}, s.frequency_penalty);
    fields.number({"presence_penalty"}, s.presence_penalty);
    fields.number({"dry_multiplier"}, s.dry_multiplier);
    float base = s.dry_base;
    if (fields.number({"dry_base"}, base) && base >= 1.0F) {
        s.dry_base = base;  // below 1 the default stays
    }
    fields.integer({"dry_allowed_length"}, s.dry_allowed_length, 0, kMaxInt);
    fields.integer({"dry_penalty_last_n"}, s.dry_penalty_last_n, 0, kMaxInt);
    if (fields.strings({"dry_sequence_breakers"}, s.dry_sequence_breakers) &&
        s.dry_sequence_breakers.empty()) {
        fields.fail("dry_sequence_breakers", "must be a non-empty array of strings");
    }
}

void parse_seed(FieldReader& fields, text::SamplingParams& s) {
    std::int64_t seed = 0;
    if (fields.integer({"seed"}, seed, std::numeric_limits<std::int64_t>::min(),
                       std::numeric_limits<std::int64_t>::max())) {
        // OpenAI's seeds have 64 bits and the samplers' 32; -1 becomes kRandomSeed.
        s.seed = static_cast<std::uint32_t>(static_cast<std::uint64_t>(seed) & 0xFFFFFFFFU);
    }
}

}  // namespace

std::vector<Token> eog_tokens_of(const text::TextModel& model) {
    std::vector<Token> tokens;
    for (Token token = 0; token < model.info().n_vocab; ++token) {
        if (model.is_eog(token)) {
            tokens.push_back(token);
        }
    }
    return tokens;
}

Result<std::vector<std::string>> samplers_of(const Json& value) {
    std::vector<std::string> names;
    if (value.is_string()) {
        for (const char letter : value.get_ref<const std::string&>()) {
            const auto known = std::find_if(kSamplers.begin(), kSamplers.end(),
                                            [&](const SamplerName& s) { return s.letter == letter; });
            if (known == kSamplers.end()) {
                return make_error(
                    ErrorKind::invalid_request,
                    "Field 'samplers': no sampler has the letter '" + std::string(1, letter) + "'");
            }
            names.emplace_back(known->name);
        }
        return names;
    }
    if (!value.is_array()) {
        return make_error(ErrorKind::invalid_request,
                          "Field 'samplers': must be an array of names or a string of letters");
    }
    for (const Json& item : value) {
        const std::string_view name =
            item.is_string() ? sampler_of_name(item.get_ref<const std::string&>()) : std::string_view{};
        if (name.empty()) {
            return make_error(ErrorKind::invalid_request,
                              "Field 'samplers': there is no sampler " + shown(item));
        }
        names.emplace_back(name);
    }
    return names;
}

void parse_sampling(FieldReader& fields, const ParseContext& context, text::SamplingParams& sampling) {
    parse_filters(fields, sampling);
    parse_penalties(fields, sampling);
    parse_seed(fields, sampling);
    fields.boolean({"post_sampling_probs"}, sampling.post_sampling_probs);
    fields.boolean({"ignore_eos"}, sampling.ignore_eos);
    if (const Json* bias = fields.find({"logit_bias"})) {
        sampling.logit_bias.clear();
        BiasParser(fields, context, sampling.logit_bias).parse(*bias);
    }
    if (const Json* samplers = fields.find({"samplers"})) {
        Result<std::vector<std::string>> names = samplers_of(*samplers);
        if (!names.ok()) {
            fields.fail_with(names.error());
        } else if (names->size() > kMaxSamplers) {
            fields.fail("samplers", "at most " + std::to_string(kMaxSamplers) + " samplers");
        } else {
            sampling.samplers = std::move(*names);
        }
    }
    fields.string({"grammar"}, sampling.grammar);
}

void parse_probs(FieldReader& fields, const ParseContext& context, Dialect dialect,
                 text::SamplingParams& sampling) {
    constexpr std::int32_t kDefaultTopLogprobs = 20;
    const Json* logprobs = fields.find({"logprobs"});
    if (dialect == Dialect::oai_chat) {
        bool wanted = false;
        fields.boolean({"logprobs"}, wanted);
        if (wanted) {
            sampling.n_probs = kDefaultTopLogprobs;
            fields.integer({"top_logprobs"}, sampling.n_probs, 0, kMaxProbs);
        } else if (fields.find({"top_logprobs"}) != nullptr) {
            fields.fail("top_logprobs", "needs logprobs to be true");
        } else {
            fields.integer({"n_probs"}, sampling.n_probs, 0, kMaxProbs);
        }
    } else if (logprobs != nullptr && logprobs->is_boolean()) {
        sampling.n_probs = logprobs->get<bool>() ? 1 : 0;  // as llama-server reads it
        fields.integer({"n_probs"}, sampling.n_probs, 0, kMaxProbs);
    } else {
        fields.integer({"n_probs", "logprobs"}, sampling.n_probs, 0, kMaxProbs);
    }
    sampling.n_probs = std::min(sampling.n_probs, context.model.info().n_vocab);
}

void parse_stop(FieldReader& fields, text::StopParams& stop) {
    fields.integer({"n_predict", "max_completion_tokens", "max_tokens"}, stop.n_predict, -1, kMaxInt);
    fields.integer({"n_indent"}, stop.n_indent, 0, kMaxInt);
    fields.integer({"t_max_predict_ms"}, stop.t_max_predict_ms, -1, std::numeric_limits<std::int64_t>::max());

    const Json* value = fields.find({"stop"});
    if (value == nullptr) {
        return;
    }
    std::vector<std::string> words;
    if (value->is_string()) {
        words.push_back(value->get<std::string>());
    } else if (!fields.strings({"stop"}, words)) {
        return;
    }
    std::erase_if(words, [](const std::string& word) { return word.empty(); });
    if (!words.empty()) {
        stop.stop = std::move(words);
    }
}

}  // namespace kvalet::api
