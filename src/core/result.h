// Errors as values. The kinds are those of llama-server's error objects (llama-server-api 1.0), so that an
// edge can turn a kind into an HTTP status without knowing who made it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "core/assert.h"

namespace kvalet {

enum class ErrorKind : std::uint8_t {
    invalid_request,      // 400
    exceed_context_size,  // 400, with n_prompt_tokens and n_ctx
    authentication,       // 401
    permission,           // 403
    not_found,            // 404
    method_not_allowed,   // 405
    timeout,              // 408
    payload_too_large,    // 413
    too_many_requests,    // 429, with Retry-After
    header_too_large,     // 431
    server,               // 500
    not_supported,        // 501
    unavailable,          // 503
};

struct Error {
    ErrorKind kind = ErrorKind::server;
    std::string message;               // one sentence that names the field or flag and what was expected
    std::int64_t n_prompt_tokens = 0;  // exceed_context_size only
    std::int64_t n_ctx = 0;            // exceed_context_size only
    int retry_after_s = 0;             // too_many_requests only
};

[[nodiscard]] inline Error make_error(ErrorKind kind, std::string message) {
    return Error{kind, std::move(message)};
}

/// A value or an Error.
template <class T>
class [[nodiscard]] Result {
  public:
    Result(T value)
        : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
    Result(Error error)
        : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

    [[nodiscard]] bool ok() const { return state_.index() == 0; }
    explicit operator bool() const { return ok(); }

    [[nodiscard]] T& value() & {
        KVALET_ASSERT(ok(), "the value of a failed Result was read");
        return std::get<0>(state_);
    }
    [[nodiscard]] const T& value() const& {
        KVALET_ASSERT(ok(), "the value of a failed Result was read");
        return std::get<0>(state_);
    }
    [[nodiscard]] T&& value() && {
        KVALET_ASSERT(ok(), "the value of a failed Result was read");
        return std::get<0>(std::move(state_));
    }
    [[nodiscard]] const Error& error() const {
        KVALET_ASSERT(!ok(), "the error of a good Result was read");
        return std::get<1>(state_);
    }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T&& operator*() && { return std::move(*this).value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

  private:
    std::variant<T, Error> state_;
};

struct Unit {};
using Status = Result<Unit>;

}  // namespace kvalet
