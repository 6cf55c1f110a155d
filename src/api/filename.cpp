#include "api/filename.h"

#include "api/utf8.h"

namespace kvalet::api {

namespace {

constexpr std::size_t kMaxFilename = 255;  // what the common file systems take

bool is_forbidden(char32_t c) {
    const bool control = c <= 0x1F || (c >= 0x7F && c <= 0x9F);
    const bool lookalike = c == 0xFF0E || c == 0x2215 || c == 0x2216;  // full stop, division slash, set minus
    const bool marker = c == 0xFFFD || c == 0xFEFF;
    constexpr std::u32string_view kSigns = U"/\\:*?\"<>|";
    return control || lookalike || marker || kSigns.find(c) != std::u32string_view::npos;
}

}  // namespace

bool is_valid_filename(std::string_view name) {
    if (name.empty() || name.size() > kMaxFilename) {
        return false;
    }
    const bool bad_ends = name.front() == ' ' || name.back() == ' ' || name.back() == '.';
    if (bad_ends || name.find("..") != std::string_view::npos) {
        return false;
    }
    while (!name.empty()) {
        const std::optional<char32_t> c = take_code_point(name);
        if (!c || is_forbidden(*c)) {
            return false;
        }
    }
    return true;
}

}  // namespace kvalet::api
