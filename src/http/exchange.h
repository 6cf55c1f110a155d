// One request being answered, and the body of a streamed answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "http/message.h"

namespace kvalet::http {

using TimePoint = std::chrono::steady_clock::time_point;

/// The body of a streamed reply. It is pulled by the io thread, and only when the previous chunk has left for
/// the socket: back-pressure is that next() is not called. Each data chunk becomes one HTTP chunk and is sent
/// at once.
class Body {
  public:
    Body() = default;
    Body(const Body&) = delete;
    Body& operator=(const Body&) = delete;
    /// Runs on the io thread, after the last chunk or after an abort (its callbacks come first).
    virtual ~Body();

    struct Chunk {
        enum class Kind : std::uint8_t { data, wait, end };
        Kind kind = Kind::wait;
        std::string bytes;                 // data: sent as one chunk; end: a last chunk if not empty
        std::optional<TimePoint> wake_at;  // wait: call again then at the latest; a fixed point, no interval
    };

    /// io thread; must not block. `wait`: nothing now, call again on Exchange::wake() or at wake_at. Each
    /// `wait` replaces the wake_at of the one before. An exception cuts the connection, so that the client
    /// sees an incomplete body.
    virtual Chunk next(TimePoint now) = 0;
};

struct Reply {
    int status = 200;
    std::string content_type;
    Headers
        headers;  // Content-Length, Transfer-Encoding and Date are this room's; `Connection: close` is obeyed
    std::string body;              // unused when there is a stream
    std::shared_ptr<Body> stream;  // chunked in HTTP/1.1; in HTTP/1.0 raw bytes up to the close
};

/// One request being answered. All methods may be called from any thread, also after the client or the server
/// has gone.
///
/// A client that closes its connection is noticed as an event, also while nothing is being sent. The end of
/// its input (FIN) counts as going away while the reply is pending or streamed: on TCP a half-close by a
/// client that still reads looks the same, and holding cells for somebody who left costs more. On a unix
/// socket the two can be told apart and a half-close is harmless. A complete reply that is being written is
/// written to its end in any case, and a pending one that is sent within two seconds of the abort still goes
/// out, so that `printf … | nc -N` gets its answer from all but generating routes.
class Exchange {
  public:
    Exchange() = default;
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;
    /// The last reference gone without send(): the client gets a 500.
    virtual ~Exchange();

    [[nodiscard]] virtual const Request& request() const = 0;

    /// Once; a second call is an assertion. The headers of a stream leave at once, before its first chunk.
    virtual void send(Reply reply) = 0;
    /// The stream has more. Cheap and coalesced: at most one call of next() is under way for any number of
    /// wakes.
    virtual void wake() = 0;
    /// Runs `work` on the io thread; dropped when the server has stopped.
    virtual void post(std::function<void()> work) = 0;
    /// Runs `work` on the io thread at that time, or soon after. One call is pending at most: a later one
    /// takes its place. Forgotten when the reply is complete or the client has gone.
    virtual void call_at(TimePoint at, std::function<void()> work) = 0;
    /// Called once, on the io thread, when the client goes away before the reply is complete; also when it
    /// already has. Several may be registered. All are forgotten when the reply is complete. After the server
    /// has stopped `callback` runs on the calling thread, as there is no other.
    virtual void on_abort(std::function<void()> callback) = 0;
    [[nodiscard]] virtual bool aborted() const = 0;
};

}  // namespace kvalet::http
