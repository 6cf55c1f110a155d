#include "http/url.h"

#include <algorithm>

#include "http/message.h"

namespace kvalet::http {

namespace {

int hex_value(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    if (c >= 'A' && c <= 'F') {
        return c - 'A' + 10;
    }
    return -1;
}

bool is_control(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
}

/// Cuts "http://authority" off the absolute form. The authority is not looked at: this server has one name
/// only.
std::optional<std::string_view> without_authority(std::string_view target) {
    const std::size_t colon = target.find("://");
    if (colon == std::string_view::npos) {
        return std::nullopt;
    }
    const std::string_view scheme = target.substr(0, colon);
    if (!iequals(scheme, "http") && !iequals(scheme, "https")) {
        return std::nullopt;
    }
    const std::size_t end = target.find_first_of("/?#", colon + 3);
    return end == std::string_view::npos ? std::string_view{} : target.substr(end);
}

void parse_query(std::string_view text, std::vector<std::pair<std::string, std::string>>& query) {
    std::size_t begin = 0;
    while (begin < text.size()) {
        const std::size_t end = std::min(text.find('&', begin), text.size());
        const std::string_view pair = text.substr(begin, end - begin);
        begin = end + 1;
        if (pair.empty()) {
            continue;
        }
        const std::size_t equals = pair.find('=');
        const std::string_view value =
            equals == std::string_view::npos ? std::string_view{} : pair.substr(equals + 1);
        query.emplace_back(percent_decode(pair.substr(0, equals), true), percent_decode(value, true));
    }
}

}  // namespace

std::string percent_decode(std::string_view text, bool plus_is_space) {
    std::string decoded;
    decoded.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%' && i + 2 < text.size()) {
            const int high = hex_value(text[i + 1]);
            const int low = hex_value(text[i + 2]);
            if (high >= 0 && low >= 0) {
                decoded += static_cast<char>(high * 16 + low);
                i += 2;
                continue;
            }
        }
        decoded += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
    return decoded;
}

std::optional<Target> parse_target(std::string_view target) {
    if (target == "*") {
        return Target{"*", {}};
    }
    if (target.empty() || target.front() != '/') {
        const auto rest = without_authority(target);
        if (!rest) {
            return std::nullopt;
        }
        target = *rest;
    }
    target = target.substr(0, target.find('#'));
    const std::size_t question = target.find('?');
    Target parsed;
    parsed.path = percent_decode(target.substr(0, question), false);
    if (parsed.path.empty()) {
        parsed.path.push_back('/');
    }
    if (std::any_of(parsed.path.begin(), parsed.path.end(), is_control)) {
        return std::nullopt;
    }
    if (question != std::string_view::npos) {
        parse_query(target.substr(question + 1), parsed.query);
    }
    return parsed;
}

}  // namespace kvalet::http
