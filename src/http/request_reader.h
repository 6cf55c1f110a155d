// From bytes to one Request. No sockets and no clock: what a connection feeds it is all it knows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "http/message.h"

namespace kvalet::http {

/// Reads one request. The syntax is Beast's work; this class adds the limits and refuses what two parsers
/// could read in two ways (request smuggling): two lengths, a length beside a transfer coding, an unknown
/// coding, a second Host.
class RequestReader {
  public:
    struct Limits {
        std::size_t max_header_bytes;
        std::size_t max_body_bytes;
    };
    enum class Progress : std::uint8_t { need_more, done, failed };
    struct Fed {
        std::size_t used;  // bytes taken off the front; the rest is to be offered again, with more behind it
        Progress progress;
    };

    explicit RequestReader(Limits limits);
    ~RequestReader();
    RequestReader(const RequestReader&) = delete;
    RequestReader& operator=(const RequestReader&) = delete;

    /// Never throws. Not to be called again after done or failed.
    [[nodiscard]] Fed feed(std::string_view bytes);

    [[nodiscard]] bool header_done() const;
    /// The client waits for "100 Continue" before it sends the body. Valid once header_done().
    [[nodiscard]] bool wants_continue() const;
    [[nodiscard]] bool keep_alive() const;
    [[nodiscard]] bool is_http_1_0() const;
    [[nodiscard]] std::size_t body_bytes() const;

    /// After failed: the status and one sentence.
    [[nodiscard]] int error_status() const;
    [[nodiscard]] const std::string& error_message() const;

    /// Complete after done; after failed what is known, for the log and the headers of the error reply.
    [[nodiscard]] Request& request();

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace kvalet::http
