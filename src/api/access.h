// Who may ask what from where: API keys and CORS (llama-server-api 1.0). Pure decisions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/config.h"

namespace kvalet::api {

/// Paths that need no key: health and the page. Given without the API prefix.
[[nodiscard]] bool is_public(std::string_view path);

/// Whether the request carries one of the keys: `Authorization: Bearer K` (bare `K` as well), or `X-Api-Key:
/// K` when there is no Authorization. Without keys everybody is let in. The comparison's time does not tell
/// how much of a key was right.
[[nodiscard]] bool key_allowed(const std::vector<std::string>& keys, std::string_view authorization,
                               std::string_view x_api_key);

/// The value of Access-Control-Allow-Origin, or nothing: no header.
[[nodiscard]] std::optional<std::string> allowed_origin(const CorsConfig& cors, std::string_view origin);

/// The further headers of the reply to an OPTIONS request.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> preflight_headers(const CorsConfig& cors);

/// The path without the prefix; nothing when it does not begin with it.
[[nodiscard]] std::optional<std::string_view> without_prefix(std::string_view path, std::string_view prefix);

}  // namespace kvalet::api
