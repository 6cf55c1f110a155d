#include "api/parse_prompt.h"

#include <algorithm>
#include <string>

#include "api/fields.h"
#include "api/json.h"

namespace kvalet::api {

namespace {

Error bad(std::string_view name, std::string sentence, ErrorKind kind = ErrorKind::invalid_request) {
    return make_error(kind, "Field '" + std::string(name) + "': " + std::move(sentence));
}

Result<Token> token_of(const Json& value, const text::TextModel& model, std::string_view name) {
    const std::optional<std::int64_t> id = integer_of(value);
    if (!id) {
        return bad(name, "an element must be a string or a token id, but is " + std::string(kind_of(value)));
    }
    const std::int32_t n_vocab = model.info().n_vocab;
    if (*id < 0 || *id >= n_vocab) {
        return bad(name, "token " + std::to_string(*id) + " is outside the vocabulary (0 to " +
                             std::to_string(n_vocab - 1) + ")");
    }
    return static_cast<Token>(*id);
}

bool has_token_ids(const Json& array) {
    return std::any_of(array.begin(), array.end(), [](const Json& v) { return v.is_number(); });
}

/// One prompt: anything but an array of prompts.
Result<std::vector<Token>> parse_one(const Json& prompt, const text::TextModel& model) {
    const Json* content = &prompt;
    if (prompt.is_object()) {
        const auto text = prompt.find("prompt_string");
        if (text == prompt.end()) {
            return bad("prompt", "an object must have a prompt_string");
        }
        if (const auto media = prompt.find("multimodal_data");
            media != prompt.end() && !media->is_null() && !media->empty()) {
            return bad("prompt", "multimodal_data is not supported yet", ErrorKind::not_supported);
        }
        content = &*text;
    }
    Result<std::vector<Token>> tokens = tokenize_mixed(*content, model, true, true, "prompt");
    if (tokens.ok() && tokens->empty()) {
        return bad("prompt", "must not be empty");
    }
    return tokens;
}

}  // namespace

Result<std::vector<Token>> tokenize_mixed(const Json& value, const text::TextModel& model, bool add_special,
                                          bool parse_special, std::string_view name) {
    if (value.is_string()) {
        return model.tokenize(value.get_ref<const std::string&>(), add_special, parse_special);
    }
    if (!value.is_array()) {
        return bad(name, "must be a string or an array, but is " + std::string(kind_of(value)));
    }
    std::vector<Token> tokens;
    bool first = true;
    for (const Json& element : value) {
        if (element.is_string()) {
            auto part =
                model.tokenize(element.get_ref<const std::string&>(), add_special && first, parse_special);
            if (!part.ok()) {
                return part.error();
            }
            tokens.insert(tokens.end(), part->begin(), part->end());
        } else {
            const Result<Token> token = token_of(element, model, name);
            if (!token.ok()) {
                return token.error();
            }
            tokens.push_back(*token);
        }
        first = false;
    }
    return tokens;
}

Result<std::vector<std::vector<Token>>> parse_prompts(const Json& prompt, const text::TextModel& model) {
    std::vector<std::vector<Token>> prompts;
    if (!prompt.is_array() || has_token_ids(prompt)) {
        Result<std::vector<Token>> one = parse_one(prompt, model);
        if (!one.ok()) {
            return one.error();
        }
        prompts.push_back(std::move(*one));
        return prompts;
    }
    if (prompt.empty()) {
        return bad("prompt", "must not be empty");
    }
    if (prompt.size() > kMaxPrompts) {
        return bad("prompt", "at most " + std::to_string(kMaxPrompts) + " prompts in one request");
    }
    for (const Json& element : prompt) {
        Result<std::vector<Token>> one = parse_one(element, model);
        if (!one.ok()) {
            return one.error();
        }
        prompts.push_back(std::move(*one));
    }
    return prompts;
}

}  // namespace kvalet::api
