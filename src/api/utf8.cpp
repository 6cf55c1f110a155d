#include "api/utf8.h"

namespace kvalet::api {

std::optional<char32_t> take_code_point(std::string_view& text) {
    if (text.empty()) {
        return std::nullopt;
    }
    const auto first = static_cast<unsigned char>(text[0]);
    const std::size_t length = first < 0x80         ? 1
                               : first >> 5 == 0x6  ? 2
                               : first >> 4 == 0xE  ? 3
                               : first >> 3 == 0x1E ? 4
                                                    : 0;
    if (length == 0 || text.size() < length) {
        return std::nullopt;
    }
    constexpr char32_t kFirstBits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
    char32_t code = first & kFirstBits[length];
    for (std::size_t i = 1; i < length; ++i) {
        const auto next = static_cast<unsigned char>(text[i]);
        if (next >> 6 != 0x2) {
            return std::nullopt;
        }
        code = (code << 6U) | (next & 0x3FU);
    }
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    if (code < kSmallest[length] || code > 0x10FFFF || surrogate) {
        return std::nullopt;
    }
    text.remove_prefix(length);
    return code;
}

bool is_valid_utf8(std::string_view text) {
    while (!text.empty()) {
        if (!take_code_point(text)) {
            return false;
        }
    }
    return true;
}

}  // namespace kvalet::api
