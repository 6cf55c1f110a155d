// A streamed body being pulled: frames what the Body gives. No sockets.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "http/exchange.h"
#include "http/reply_writer.h"

namespace kvalet::http {

class Stream {
  public:
    Stream(std::shared_ptr<Body> body, bool chunked) : body_(std::move(body)), chunked_(chunked) {}

    struct Step {
        enum class Kind : std::uint8_t {
            write,   // `out` is to be sent, then pull() again
            finish,  // `out` is to be sent if not empty, then the reply is complete
            wait,    // nothing before a wake or `wake_at`
        };
        Kind kind = Kind::wait;
        Outgoing out;
        std::optional<TimePoint> wake_at;
    };
    /// Calls Body::next once, and again as long as it gives empty data; exceptions pass through.
    [[nodiscard]] Step pull(TimePoint now);

  private:
    [[nodiscard]] Outgoing frame(std::string bytes, bool last) const;

    std::shared_ptr<Body> body_;
    bool chunked_;
};

}  // namespace kvalet::http
