// A JSON body that is not ready yet: white space in front of it, so that no intermediary takes the silence
// for a dead connection (--http-keepalive-body). Legal JSON; the price is that the status is 200 by then.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>

#include "http/exchange.h"

namespace kvalet::api {

class WaitingBody final : public http::Body {
  public:
    /// One space at once, as the wait has been long already, then one after each interval.
    explicit WaitingBody(std::chrono::milliseconds interval) : interval_(interval) {}

    /// Any thread, once: the body. Wake the exchange afterwards.
    void finish(std::string body);

    Chunk next(http::TimePoint now) override;

  private:
    const std::chrono::milliseconds interval_;
    std::optional<http::TimePoint> next_space_;
    std::mutex mutex_;
    std::optional<std::string> body_;
};

}  // namespace kvalet::api
