#include "api/json.h"

#include <algorithm>
#include <vector>

namespace kvalet::api {

namespace {

Error bad_json(std::string why) {
    // llama-server answers 500 here; a malformed body is the client's fault, and 400 is what every client
    // library expects.
    return make_error(ErrorKind::invalid_request, "The body is not valid JSON: " + std::move(why));
}

/// Walks over the text outside of strings and counts brackets and keys; says what is too much, or "".
std::string_view over_limits(std::string_view text) {
    std::vector<std::size_t> keys_seen;  // of each open bracket
    std::size_t comparisons = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string) {
            if (c == '\\') {
                ++i;
            } else if (c == '"') {
                in_string = false;
            }
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            keys_seen.push_back(0);
            if (keys_seen.size() > kMaxJsonDepth) {
                return "nested deeper than 128 levels";
            }
        } else if ((c == '}' || c == ']') && !keys_seen.empty()) {
            keys_seen.pop_back();
        } else if (c == ':' && !keys_seen.empty()) {
            comparisons += keys_seen.back()++;
            if (comparisons > kMaxKeyComparisons) {
                return "too many keys in one object";
            }
        }
    }
    return {};
}

/// nlohmann's sentence without the bracketed code in front, cut to a length that suits a log line.
std::string reason_of(const nlohmann::json::exception& e) {
    constexpr std::size_t kMaxReason = 200;
    std::string_view what = e.what();
    if (const std::size_t end = what.find("] "); what.starts_with("[json.exception") && end != what.npos) {
        what.remove_prefix(end + 2);
    }
    return std::string(what.substr(0, kMaxReason));
}

}  // namespace

Result<Json> parse_json(std::string_view text) {
    if (const std::string_view problem = over_limits(text); !problem.empty()) {
        return bad_json(std::string(problem));
    }
    try {
        return Json::parse(text.begin(), text.end());
    } catch (const nlohmann::json::exception& e) {
        return bad_json(reason_of(e));
    }
}

Result<Json> parse_json_object(std::string_view text) {
    Result<Json> parsed = parse_json(text);
    if (parsed.ok() && !parsed->is_object()) {
        return make_error(ErrorKind::invalid_request,
                          "The body must be a JSON object, but is " + std::string(kind_of(*parsed)));
    }
    return parsed;
}

std::string dump(const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string shown(const Json& value) {
    constexpr std::size_t kMaxShown = 80;
    if (value.is_structured()) {
        return std::string(kind_of(value));
    }
    std::string text = dump(value);
    if (text.size() > kMaxShown) {
        text.resize(kMaxShown);
        text += "…";
    }
    return text;
}

std::string_view kind_of(const Json& value) {
    switch (value.type()) {
        case Json::value_t::null:
            return "null";
        case Json::value_t::object:
            return "an object";
        case Json::value_t::array:
            return "an array";
        case Json::value_t::string:
            return "a string";
        case Json::value_t::boolean:
            return "a boolean";
        case Json::value_t::number_integer:
        case Json::value_t::number_unsigned:
            return "an integer";
        case Json::value_t::number_float:
            return "a number";
        default:
            return "something else";
    }
}

}  // namespace kvalet::api
