#include "text/llama_model_info.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace kvalet::text {

namespace {

std::optional<std::string> meta_text(const llama_model& model, llama_model_meta_key key) {
    const char* name = llama_model_meta_key_str(key);
    if (name == nullptr) {
        return std::nullopt;
    }
    const std::int32_t size = llama_model_meta_val_str(&model, name, nullptr, 0);
    if (size <= 0) {
        return std::nullopt;
    }
    std::string value(static_cast<std::size_t>(size) + 1, '\0');
    llama_model_meta_val_str(&model, name, value.data(), value.size());
    value.resize(static_cast<std::size_t>(size));
    return value;
}

/// The whole text as a number, or nothing.
std::optional<float> meta_float(const llama_model& model, llama_model_meta_key key) {
    const auto value = meta_text(model, key);
    if (!value) {
        return std::nullopt;
    }
    char* end = nullptr;
    const float number = std::strtof(value->c_str(), &end);
    return end != value->c_str() && *end == '\0' ? std::optional(number) : std::nullopt;
}

std::optional<std::int32_t> meta_int(const llama_model& model, llama_model_meta_key key) {
    const auto value = meta_text(model, key);
    if (!value) {
        return std::nullopt;
    }
    char* end = nullptr;
    errno = 0;
    const long number = std::strtol(value->c_str(), &end, 10);
    const bool fits = errno == 0 && number >= INT32_MIN && number <= INT32_MAX;
    return fits && end != value->c_str() && *end == '\0' ? std::optional(static_cast<std::int32_t>(number))
                                                         : std::nullopt;
}

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    while (begin <= text.size()) {
        const std::size_t end = std::min(text.find(separator, begin), text.size());
        if (end > begin) {
            parts.push_back(text.substr(begin, end - begin));
        }
        begin = end + 1;
    }
    return parts;
}

ModelSampling read_sampling(const llama_model& model) {
    ModelSampling s;
    s.top_k = meta_int(model, LLAMA_MODEL_META_KEY_SAMPLING_TOP_K);
    s.top_p = meta_float(model, LLAMA_MODEL_META_KEY_SAMPLING_TOP_P);
    s.min_p = meta_float(model, LLAMA_MODEL_META_KEY_SAMPLING_MIN_P);
    s.xtc_probability = meta_float(model, LLAMA_MODEL_META_KEY_SAMPLING_XTC_PROBABILITY);
    s.xtc_threshold = meta_float(model, LLAMA_MODEL_META_KEY_SAMPLING_XTC_THRESHOLD);
    s.temperature = meta_float(model, LLAMA_MODEL_META_KEY_SAMPLING_TEMP);
    s.repeat_last_n = meta_int(model, LLAMA_MODEL_META_KEY_SAMPLING_PENALTY_LAST_N);
    s.repeat_penalty = meta_float(model, LLAMA_MODEL_META_KEY_SAMPLING_PENALTY_REPEAT);
    s.mirostat = meta_int(model, LLAMA_MODEL_META_KEY_SAMPLING_MIROSTAT);
    s.mirostat_tau = meta_float(model, LLAMA_MODEL_META_KEY_SAMPLING_MIROSTAT_TAU);
    s.mirostat_eta = meta_float(model, LLAMA_MODEL_META_KEY_SAMPLING_MIROSTAT_ETA);
    s.samplers = split(meta_text(model, LLAMA_MODEL_META_KEY_SAMPLING_SEQUENCE).value_or(""), ';');
    return s;
}

std::string describe(const llama_model& model) {
    std::string text(256, '\0');
    const std::int32_t size = llama_model_desc(&model, text.data(), text.size());
    text.resize(size > 0 ? std::min(static_cast<std::size_t>(size), text.size() - 1) : 0);
    return text;
}

}  // namespace

std::string token_piece(const llama_vocab& vocab, Token token, bool special) {
    if (token < 0 || token >= llama_vocab_n_tokens(&vocab)) {
        return "";
    }
    char small[64];
    const std::int32_t size = llama_token_to_piece(&vocab, token, small, sizeof small, 0, special);
    if (size >= 0) {
        return {small, static_cast<std::size_t>(size)};
    }
    std::string large(static_cast<std::size_t>(-size), '\0');
    llama_token_to_piece(&vocab, token, large.data(), -size, 0, special);
    return large;
}

ModelInfo read_model_info(const llama_model& model) {
    const llama_vocab* vocab = llama_model_get_vocab(&model);
    ModelInfo info;
    info.description = describe(model);
    info.ftype = llama_ftype_name(llama_model_ftype(&model));
    info.bos_text = token_piece(*vocab, llama_vocab_bos(vocab), true);
    info.eos_text = token_piece(*vocab, llama_vocab_eos(vocab), true);
    info.sampling = read_sampling(model);
    info.vocab_type = static_cast<std::int32_t>(llama_vocab_type(vocab));
    info.n_vocab = llama_vocab_n_tokens(vocab);
    info.n_ctx_train = llama_model_n_ctx_train(&model);
    info.n_embd = llama_model_n_embd(&model);
    info.n_params = llama_model_n_params(&model);
    info.size_bytes = llama_model_size(&model);
    info.has_encoder = llama_model_has_encoder(&model);
    return info;
}

}  // namespace kvalet::text
