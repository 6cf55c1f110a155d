// Time as a port, so that the engine can be run in virtual time.
#pragma once

#include <chrono>
#include <cstdint>

namespace kvalet {

/// Microseconds since an origin of the clock's own; monotonic.
using Micros = std::int64_t;

class Clock {
  public:
    virtual ~Clock() = default;
    [[nodiscard]] virtual Micros now_us() const = 0;
};

class SteadyClock final : public Clock {
  public:
    [[nodiscard]] Micros now_us() const override {
        return std::chrono::duration_cast<std::chrono::microseconds>(
                   std::chrono::steady_clock::now().time_since_epoch())
            .count();
    }
};

/// Moves only when it is told to. One thread.
class ManualClock final : public Clock {
  public:
    [[nodiscard]] Micros now_us() const override { return now_us_; }
    void advance_us(Micros us) { now_us_ += us; }

  private:
    Micros now_us_ = 0;
};

}  // namespace kvalet
