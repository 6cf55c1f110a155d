// From a Reply to bytes: the head, and the frames of chunks. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "http/exchange.h"

namespace kvalet::http {

/// How the client finds the end of the body.
enum class Framing : std::uint8_t {
    none,         // no body and no length: 1xx, 204, 304
    length,       // Content-Length
    chunked,      // Transfer-Encoding: chunked
    until_close,  // HTTP/1.0 streams
};

struct HeadParts {
    int status = 200;
    Framing framing = Framing::length;
    std::size_t length = 0;  // for Framing::length
    bool keep_alive = true;
    bool is_http_1_0 = false;
    std::string_view date;  // the value of Date, see http_date()
};

[[nodiscard]] std::string_view reason_phrase(int status);
[[nodiscard]] bool status_has_no_body(int status);

/// Status line, headers and the empty line. Framing headers among `headers` are left out, as they are this
/// room's; a line break in a name or value becomes a space, so that no value can add a header of its own.
[[nodiscard]] std::string make_head(const HeadParts& parts, std::string_view content_type,
                                    const Headers& headers);

/// "Tue, 15 Nov 1994 08:12:31 GMT".
[[nodiscard]] std::string http_date(std::chrono::system_clock::time_point now);

/// The line before a chunk of so many bytes; CRLF comes behind the chunk. Never for 0 bytes, which would end
/// the body.
[[nodiscard]] std::string chunk_head(std::size_t bytes);
constexpr std::string_view kChunkTail = "\r\n";
constexpr std::string_view kLastChunk = "0\r\n\r\n";

/// Bytes on their way to the socket, in three parts so that a body is not copied behind its head.
class Outgoing {
  public:
    Outgoing() = default;
    Outgoing(std::string head, std::string body, std::string tail)
        : parts_{std::move(head), std::move(body), std::move(tail)} {}

    /// What is left of each part; empty ones are possible.
    [[nodiscard]] std::array<std::string_view, 3> left() const;
    /// So many bytes more have been written.
    void advance(std::size_t bytes);
    [[nodiscard]] bool empty() const;
    /// Puts bytes in front of everything; only before the first advance().
    void prepend(std::string_view bytes) { parts_[0].insert(0, bytes); }

  private:
    std::array<std::string, 3> parts_;
    std::size_t written_ = 0;
};

}  // namespace kvalet::http
