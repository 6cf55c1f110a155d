#include "http/message.h"

#include <algorithm>

namespace kvalet::http {

namespace {

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

bool iequals(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view Request::header(std::string_view name) const {
    for (const Header& h : headers) {
        if (iequals(h.name, name)) {
            return h.value;
        }
    }
    return {};
}

std::string_view Request::query_value(std::string_view name) const {
    for (const auto& [key, value] : query) {
        if (key == name) {
            return value;
        }
    }
    return {};
}

}  // namespace kvalet::http
