// JSON text in and out, with the limits that a server needs. For .cpp files: it brings all of nlohmann_json.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "api/json_fwd.h"
#include "core/result.h"

namespace kvalet::api {

/// Arrays and objects within each other. Deeper texts are refused before they are parsed.
constexpr std::size_t kMaxJsonDepth = 128;
/// Every key of an ordered object is compared with the ones before it. This bounds the comparisons of a whole
/// text: about 6,000 keys in one object, or a million spread over small ones.
constexpr std::size_t kMaxKeyComparisons = 20'000'000;

/// The value of a JSON text. invalid_request with one sentence that says where and why, for malformed text,
/// invalid UTF-8, a number beyond every range, and texts above the limits.
[[nodiscard]] Result<Json> parse_json(std::string_view text);

/// As parse_json, and the value must be an object: what every route here takes.
[[nodiscard]] Result<Json> parse_json_object(std::string_view text);

/// Compact text. Invalid UTF-8 becomes U+FFFD; infinities and NaN become null (llama-server-api 1.0).
[[nodiscard]] std::string dump(const Json& value);

/// The value for a message: its text, cut where it is long.
[[nodiscard]] std::string shown(const Json& value);

/// "an integer", "a string", … for messages.
[[nodiscard]] std::string_view kind_of(const Json& value);

}  // namespace kvalet::api
