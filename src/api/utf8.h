// Decoding UTF-8, strictly.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace kvalet::api {

/// Takes the first code point off `text`; nothing when it is malformed, overlong, a surrogate or beyond
/// Unicode.
[[nodiscard]] std::optional<char32_t> take_code_point(std::string_view& text);

[[nodiscard]] bool is_valid_utf8(std::string_view text);

}  // namespace kvalet::api
