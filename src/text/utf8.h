// Where a UTF-8 character at the end of a text is cut off. Pure, std only.
#pragma once

#include <cstddef>
#include <string_view>

namespace kvalet::text {

/// How many bytes at the end of `text` (0..3) begin a UTF-8 character that more bytes could still complete.
/// 0 as well for bytes that no continuation makes valid: there is nothing to wait for. (Unicode table 3-7.)
[[nodiscard]] std::size_t incomplete_utf8_suffix(std::string_view text);

}  // namespace kvalet::text
