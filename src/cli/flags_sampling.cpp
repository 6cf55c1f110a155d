// The table of flags: what a request that does not say otherwise is sampled with (llama-server-api 1.5).
#include <algorithm>
#include <cmath>

#include "cli/values.h"

namespace kvalet::cli {

namespace {

using text::SamplingParams;

/// Letter of --sampler-seq, name of --samplers.
constexpr std::pair<char, const char*> kSamplers[] = {
    {'e', "penalties"}, {'d', "dry"},   {'s', "top_n_sigma"}, {'k', "top_k"},       {'y', "typ_p"},
    {'p', "top_p"},     {'m', "min_p"}, {'x', "xtc"},         {'t', "temperature"}, {'a', "adaptive_p"}};

constexpr std::pair<const char*, const char*> kSamplerAliases[] = {{"top-n-sigma", "top_n_sigma"},
                                                                   {"top-k", "top_k"},
                                                                   {"typical", "typ_p"},
                                                                   {"typical_p", "typ_p"},
                                                                   {"typical-p", "typ_p"},
                                                                   {"typ-p", "typ_p"},
                                                                   {"typ", "typ_p"},
                                                                   {"top-p", "top_p"},
                                                                   {"nucleus", "top_p"},
                                                                   {"min-p", "min_p"},
                                                                   {"temp", "temperature"},
                                                                   {"adaptive-p", "adaptive_p"}};

std::string canonical_sampler(const std::string& name) {
    for (const auto& [letter, known] : kSamplers) {
        if (name == known) return name;
    }
    for (const auto& [alias, known] : kSamplerAliases) {
        if (name == alias) return known;
    }
    return {};
}

std::string sampler_names() {
    std::vector<std::string> names;
    for (const auto& [letter, name] : kSamplers) names.emplace_back(name);
    return join(names, " ");
}

Status set_samplers(ServeOptions& o, const std::string& value) {
    std::vector<std::string> chosen;
    for (const std::string& part : split(value, ';')) {
        const std::string name = trim(part);
        if (name.empty()) continue;
        const std::string known = canonical_sampler(name);
        if (known.empty()) return expected("names of samplers between semicolons (" + sampler_names() + ")");
        chosen.push_back(known);
    }
    o.text.sampling.samplers = std::move(chosen);
    return Unit{};
}

Status set_sampler_seq(ServeOptions& o, const std::string& value) {
    std::vector<std::string> chosen;
    for (const char letter : value) {
        const auto* known = std::find_if(std::begin(kSamplers), std::end(kSamplers),
                                         [letter](const auto& sampler) { return sampler.first == letter; });
        if (known == std::end(kSamplers)) return expected("letters of samplers (edskypmxta)");
        chosen.emplace_back(known->second);
    }
    o.text.sampling.samplers = std::move(chosen);
    return Unit{};
}

Status set_seed(ServeOptions& o, const std::string& value) {
    const auto n = integer_of(value);
    if (!n || *n < -1 || *n > UINT32_MAX)
        return expected("a whole number from 0 to 4294967295, or -1 for random");
    o.text.sampling.seed = *n == -1 ? text::kRandomSeed : static_cast<std::uint32_t>(*n);
    return Unit{};
}

/// TOKEN+BIAS or TOKEN-BIAS.
Status set_logit_bias(ServeOptions& o, const std::string& value) {
    const std::size_t sign = value.find_first_of("+-");
    if (sign == std::string::npos) return expected("TOKEN+BIAS or TOKEN-BIAS, such as 15043-1");
    const auto token = integer_of(trim(value.substr(0, sign)));
    const auto bias = number_of(trim(value.substr(sign + 1)));
    if (!token || *token < 0 || *token > INT32_MAX || !bias || *bias < 0) {
        return expected("TOKEN+BIAS or TOKEN-BIAS, such as 15043-1");
    }
    o.text.sampling.logit_bias.push_back({static_cast<Token>(*token), value[sign] == '-' ? -*bias : *bias});
    return Unit{};
}

Status set_grammar_file(ServeOptions& o, const std::string& value) {
    Result<std::string> text = read_file(value);
    if (!text) return text.error();
    o.text.sampling.grammar = std::move(*text);
    return Unit{};
}

Status set_dry_breaker(ServeOptions& o, const std::string& value) {
    // The first one given replaces the defaults.
    if (!o.is_given("dry-sequence-breaker")) o.text.sampling.dry_sequence_breakers.clear();
    if (value == "none") {
        o.text.sampling.dry_sequence_breakers.clear();
    } else if (value.empty()) {
        return expected("a string that is not empty, or none");
    } else {
        o.text.sampling.dry_sequence_breakers.push_back(value);
    }
    return Unit{};
}

Status set_reverse_prompt(ServeOptions& o, const std::string& value) {
    if (value.empty()) return expected("a string that is not empty");
    o.text.stop.stop.push_back(value);
    return Unit{};
}

Setter as_float(float SamplingParams::*field) {
    return as_number([field](ServeOptions& o) -> float& { return o.text.sampling.*field; });
}

Setter as_int(std::int32_t SamplingParams::*field, std::int64_t low, std::int64_t high = INT32_MAX) {
    return as_integer([field](ServeOptions& o) -> std::int32_t& { return o.text.sampling.*field; }, low,
                      high);
}

template <class Good>
Setter as_checked(float SamplingParams::*field, std::string what, Good good) {
    return as_number([field](ServeOptions& o) -> float& { return o.text.sampling.*field; }, std::move(what),
                     good);
}

void add_length(std::vector<Flag>& t) {
    const Group g = Group::sampling;
    add(t, g, "predict -n --n-predict", "", "LLAMA_ARG_N_PREDICT", "N", "-1",
        "Most tokens of a reply; -1: until the model or the context ends it.",
        as_integer([](ServeOptions& o) -> std::int64_t& { return o.text.stop.n_predict; }, -1));
    add(t, g, "keep", "", "", "N", "0", "Default of n_keep; -1: the whole prompt.",
        as_integer([](ServeOptions& o) -> int& { return o.server.n_keep; }, -1));
    add(t, g, "reverse-prompt -r", "", "", "TEXT", "", "Stop at this text; may be given several times.",
        set_reverse_prompt);
    add(t, g, "ignore-eos", "", "", "", "off", "Do not let the model end its reply.",
        as_switch([](ServeOptions& o) -> bool& { return o.text.sampling.ignore_eos; }));
    add(t, g, "special -sp", "", "", "", "off", "Show special tokens in replies.",
        as_switch([](ServeOptions& o) -> bool& { return o.server.special; }));
    add(t, g, "escape -e", "--no-escape", "", "", "on",
        "Read \\n, \\r, \\t, \\', \\\" and \\\\ in --reverse-prompt and --dry-sequence-breaker.",
        as_switch([](ServeOptions& o) -> bool& { return o.escape; }));
}

void add_chain(std::vector<Flag>& t) {
    const Group g = Group::sampling;
    add(t, g, "samplers", "", "", "NAMES",
        "penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature",
        "Samplers in order, between semicolons.", set_samplers);
    add(t, g, "sampler-seq --sampling-seq", "", "", "LETTERS", "edskypmxt", "The same by one letter each.",
        set_sampler_seq);
    add(t, g, "seed -s", "", "", "N", "-1", "Seed; -1: another one each time.", set_seed);
    add(t, g, "temp --temperature", "", "LLAMA_ARG_TEMPERATURE", "X", "0.8",
        "Temperature; 0 or less: greedy.", as_float(&SamplingParams::temperature));
    add(t, g, "top-k", "", "LLAMA_ARG_TOP_K", "N", "40", "The N likeliest tokens; 0: all.",
        as_int(&SamplingParams::top_k, INT32_MIN));
    add(t, g, "top-p", "", "LLAMA_ARG_TOP_P", "X", "0.95", "The likeliest tokens that sum to X; 1: off.",
        as_float(&SamplingParams::top_p));
    add(t, g, "min-p", "", "LLAMA_ARG_MIN_P", "X", "0.05",
        "Tokens at least X times as likely as the likeliest; 0: off.", as_float(&SamplingParams::min_p));
    add(t, g, "top-nsigma --top-n-sigma", "", "", "X", "-1",
        "Tokens within X standard deviations of the best; -1: off.", as_float(&SamplingParams::top_n_sigma));
    add(t, g, "typical --typical-p", "", "", "X", "1.0", "Locally typical sampling; 1: off.",
        as_float(&SamplingParams::typical_p));
    add(t, g, "xtc-probability", "", "", "X", "0.0", "Chance of XTC in each step; 0: off.",
        as_float(&SamplingParams::xtc_probability));
    add(t, g, "xtc-threshold", "", "", "X", "0.1", "XTC: likeliness above which tokens fall; above 0.5: off.",
        as_float(&SamplingParams::xtc_threshold));
    add(t, g, "dynatemp-range", "", "", "X", "0.0", "Dynamic temperature: range; 0: off.",
        as_float(&SamplingParams::dynatemp_range));
    add(t, g, "dynatemp-exp", "", "", "X", "1.0", "Dynamic temperature: exponent.",
        as_float(&SamplingParams::dynatemp_exponent));
}

void add_penalties(std::vector<Flag>& t) {
    const Group g = Group::sampling;
    add(t, g, "repeat-last-n", "", "", "N", "64", "Tokens that the penalties look back on; 0: off.",
        as_int(&SamplingParams::repeat_last_n, 0));
    add(t, g, "repeat-penalty", "", "LLAMA_ARG_REPEAT_PENALTY", "X", "1.0",
        "Makes tokens that were there already less likely by this factor; 1: off.",
        as_checked(&SamplingParams::repeat_penalty, "a number above 0",
                   [](float x) { return x > 0 && std::isfinite(1.0F / x); }));
    add(t, g, "presence-penalty", "", "LLAMA_ARG_PRESENCE_PENALTY", "X", "0.0",
        "Taken off a token that was there already; 0: off.", as_float(&SamplingParams::presence_penalty));
    add(t, g, "frequency-penalty", "", "LLAMA_ARG_FREQUENCY_PENALTY", "X", "0.0",
        "Taken off a token for each time it was there; 0: off.",
        as_float(&SamplingParams::frequency_penalty));
    add(t, g, "dry-multiplier", "", "", "X", "0.0", "DRY: strength; 0: off.",
        as_float(&SamplingParams::dry_multiplier));
    add(t, g, "dry-base", "", "", "X", "1.75", "DRY: growth with the length of the repetition.",
        as_checked(&SamplingParams::dry_base, "a number of at least 1", [](float x) { return x >= 1; }));
    add(t, g, "dry-allowed-length", "", "", "N", "2", "DRY: repetitions so long are free.",
        as_int(&SamplingParams::dry_allowed_length, 0));
    add(t, g, "dry-penalty-last-n", "", "", "N", "64", "DRY: tokens to look back on; 0: off.",
        as_int(&SamplingParams::dry_penalty_last_n, 0));
    add(t, g, "dry-sequence-breaker", "", "", "TEXT", "",
        "DRY: texts that end a repetition; the first one given replaces \\n : \" *, none: no texts.",
        set_dry_breaker);
    add(t, g, "logit-bias -l", "", "", "TOKEN+BIAS", "",
        "Make a token more (TOKEN+BIAS) or less (TOKEN-BIAS) likely; may be given several times.",
        set_logit_bias);
}

void add_rest(std::vector<Flag>& t) {
    const Group g = Group::sampling;
    add(t, g, "mirostat", "", "", "N", "0", "Mirostat 1 or 2; 0: off.",
        as_int(&SamplingParams::mirostat, 0, 2));
    add(t, g, "mirostat-lr", "", "", "X", "0.1", "Mirostat: learning rate.",
        as_float(&SamplingParams::mirostat_eta));
    add(t, g, "mirostat-ent", "", "", "X", "5.0", "Mirostat: target entropy.",
        as_float(&SamplingParams::mirostat_tau));
    add(t, g, "adaptive-target", "", "", "X", "-1", "Adaptive-p: target probability; negative: off.",
        as_float(&SamplingParams::adaptive_target));
    add(t, g, "adaptive-decay", "", "", "X", "0.9", "Adaptive-p: decay, 0 to 0.99.",
        as_checked(&SamplingParams::adaptive_decay, "a number from 0 to 0.99",
                   [](float x) { return x >= 0 && x <= 0.99F; }));
    add(t, g, "grammar", "", "", "GBNF", "", "Grammar that every reply must follow.",
        as_text([](ServeOptions& o) -> std::string& { return o.text.sampling.grammar; }));
    add(t, g, "grammar-file", "", "", "FILE", "", "File with such a grammar.", set_grammar_file);
}

}  // namespace

void add_sampling_flags(std::vector<Flag>& table) {
    add_length(table);
    add_chain(table);
    add_penalties(table);
    add_rest(table);
}

}  // namespace kvalet::cli
