// Error objects (llama-server-api 1.0).
#pragma once

#include <string>
#include <string_view>

#include "api/json_fwd.h"
#include "core/result.h"

namespace kvalet::api {

[[nodiscard]] int http_status(ErrorKind kind);

/// "invalid_request_error" and so on. Kinds that llama-server does not have get the name that OpenAI's
/// clients know, or that of the nearest kind.
[[nodiscard]] std::string_view type_name(ErrorKind kind);

/// The kind for a status that the http room found by itself (405, 408, 413, 431, …).
[[nodiscard]] ErrorKind kind_of_status(int status);

/// {"code","message","type"}, with n_prompt_tokens and n_ctx for exceed_context_size.
[[nodiscard]] Json error_json(const Error& error);

/// {"error":{…}} as text.
[[nodiscard]] std::string error_body(const Error& error);

}  // namespace kvalet::api
