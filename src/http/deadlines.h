// The points in time at which a connection has something to do. Pure; one timer of the connection aims at the
// earliest.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "http/exchange.h"

namespace kvalet::http {

enum class Deadline : std::uint8_t {
    receive,  // the next piece of the request
    write,    // progress of the write under way
    wake,     // what the streamed body asked for
    probe,    // look whether the client has gone, while its input is not read
    linger,   // the end of waiting for the client's close
    call,     // what the exchange asked for
};

class Deadlines {
  public:
    void set(Deadline which, TimePoint at) { at_[index(which)] = at; }
    void clear(Deadline which) { at_[index(which)] = kNever; }
    void clear_all() { at_.fill(kNever); }
    [[nodiscard]] TimePoint earliest() const {
        TimePoint first = kNever;
        for (const TimePoint at : at_) {
            first = at < first ? at : first;
        }
        return first;
    }
    /// Those that are due, in the order of the enumeration; clears them. All at once: what a due one sets
    /// anew waits for the next turn of the loop, even when it lies in the past.
    [[nodiscard]] std::vector<Deadline> take_due(TimePoint now) {
        std::vector<Deadline> due;
        for (std::size_t i = 0; i < kCount; ++i) {
            if (at_[i] <= now) {
                at_[i] = kNever;
                due.push_back(static_cast<Deadline>(i));
            }
        }
        return due;
    }

    static constexpr TimePoint kNever = TimePoint::max();

  private:
    static constexpr std::size_t kCount = 6;
    [[nodiscard]] static std::size_t index(Deadline which) { return static_cast<std::size_t>(which); }
    std::array<TimePoint, kCount> at_{kNever, kNever, kNever, kNever, kNever, kNever};
};

}  // namespace kvalet::http
