// Ids of replies.
#pragma once

#include <string>

namespace kvalet::api {

/// "chatcmpl-" and 32 random letters and digits: the `id` of a reply, the X-Request-Id header and the
/// engine's public id. From the system's random source: ids are what park and unpark trust (P7.2). Any
/// thread.
[[nodiscard]] std::string new_completion_id();

/// "<__media_" and 32 random letters and digits and "__>": /props' media_marker.
[[nodiscard]] std::string new_media_marker();

}  // namespace kvalet::api
