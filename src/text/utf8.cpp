#include "text/utf8.h"

#include <algorithm>

namespace kvalet::text {

namespace {

constexpr std::size_t kMaxCharBytes = 4;

bool is_continuation(unsigned char c) {
    return (c & 0xC0U) == 0x80U;
}

/// Bytes of the character that a lead byte opens; 0 when no character begins with it.
std::size_t char_bytes(unsigned char lead) {
    if (lead < 0x80) {
        return 1;
    }
    if (lead >= 0xC2 && lead <= 0xDF) {
        return 2;
    }
    if (lead >= 0xE0 && lead <= 0xEF) {
        return 3;
    }
    if (lead >= 0xF0 && lead <= 0xF4) {
        return 4;
    }
    return 0;
}

/// Four lead bytes allow only a part of the continuation bytes after them: no overlong forms, no surrogates,
/// nothing above U+10FFFF.
bool second_byte_fits(unsigned char lead, unsigned char second) {
    switch (lead) {
        case 0xE0:
            return second >= 0xA0;
        case 0xED:
            return second <= 0x9F;
        case 0xF0:
            return second >= 0x90;
        case 0xF4:
            return second <= 0x8F;
        default:
            return true;
    }
}

}  // namespace

std::size_t incomplete_utf8_suffix(std::string_view text) {
    const std::size_t reach = std::min(text.size(), kMaxCharBytes - 1);
    for (std::size_t back = 1; back <= reach; ++back) {
        const auto c = static_cast<unsigned char>(text[text.size() - back]);
        if (is_continuation(c)) {
            continue;
        }
        if (char_bytes(c) <= back) {
            return 0;  // complete, or no beginning of a character at all
        }
        if (back >= 2 && !second_byte_fits(c, static_cast<unsigned char>(text[text.size() - back + 1]))) {
            return 0;
        }
        return back;
    }
    return 0;
}

}  // namespace kvalet::text
