#include "api/errors.h"

#include "api/json.h"

namespace kvalet::api {

int http_status(ErrorKind kind) {
    switch (kind) {
        case ErrorKind::invalid_request:
        case ErrorKind::exceed_context_size:
            return 400;
        case ErrorKind::authentication:
            return 401;
        case ErrorKind::permission:
            return 403;
        case ErrorKind::not_found:
            return 404;
        case ErrorKind::method_not_allowed:
            return 405;
        case ErrorKind::timeout:
            return 408;
        case ErrorKind::payload_too_large:
            return 413;
        case ErrorKind::too_many_requests:
            return 429;
        case ErrorKind::header_too_large:
            return 431;
        case ErrorKind::server:
            return 500;
        case ErrorKind::not_supported:
            return 501;
        case ErrorKind::unavailable:
            return 503;
    }
    return 500;
}

std::string_view type_name(ErrorKind kind) {
    switch (kind) {
        case ErrorKind::exceed_context_size:
            return "exceed_context_size_error";
        case ErrorKind::authentication:
            return "authentication_error";
        case ErrorKind::permission:
            return "permission_error";
        case ErrorKind::not_found:
            return "not_found_error";
        case ErrorKind::too_many_requests:
            return "rate_limit_error";
        case ErrorKind::timeout:
            return "timeout_error";
        case ErrorKind::server:
            return "server_error";
        case ErrorKind::not_supported:
            return "not_supported_error";
        case ErrorKind::unavailable:
            return "unavailable_error";
        case ErrorKind::invalid_request:
        case ErrorKind::method_not_allowed:
        case ErrorKind::payload_too_large:
        case ErrorKind::header_too_large:
            return "invalid_request_error";
    }
    return "server_error";
}

ErrorKind kind_of_status(int status) {
    switch (status) {
        case 401:
            return ErrorKind::authentication;
        case 403:
            return ErrorKind::permission;
        case 404:
            return ErrorKind::not_found;
        case 405:
            return ErrorKind::method_not_allowed;
        case 408:
            return ErrorKind::timeout;
        case 413:
            return ErrorKind::payload_too_large;
        case 429:
            return ErrorKind::too_many_requests;
        case 431:
            return ErrorKind::header_too_large;
        case 501:
            return ErrorKind::not_supported;
        case 503:
            return ErrorKind::unavailable;
        default:
            return status >= 400 && status < 500 ? ErrorKind::invalid_request : ErrorKind::server;
    }
}

Json error_json(const Error& error) {
    Json object = {
        {"code", http_status(error.kind)},
        {"message", error.message},
        {"type", type_name(error.kind)},
    };
    if (error.kind == ErrorKind::exceed_context_size) {
        object["n_prompt_tokens"] = error.n_prompt_tokens;
        object["n_ctx"] = error.n_ctx;
    }
    return object;
}

std::string error_body(const Error& error) {
    return dump(Json{{"error", error_json(error)}});
}

}  // namespace kvalet::api
