// Names of slot files, which come from clients (llama-server-api 1.3).
#pragma once

#include <string_view>

namespace kvalet::api {

/// A plain name in one directory: 1 to 255 bytes of valid UTF-8 without separators, control characters, signs
/// that some file system forbids, characters that look like separators, spaces at the ends, a dot at the end,
/// or "..".
[[nodiscard]] bool is_valid_filename(std::string_view name);

}  // namespace kvalet::api
