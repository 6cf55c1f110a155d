// Random numbers from a seed, the same on every machine: integers only.
#pragma once

#include <cstdint>

namespace kvalet::sim {

class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    /// A stream of its own for the nth thing of a run: what one request is does not depend on the others.
    Random(std::uint64_t seed, std::uint64_t nth);

    std::uint64_t next();
    /// low .. high, each as likely.
    std::int64_t between(std::int64_t low, std::int64_t high);
    /// low .. high, with as many between 10 and 20 as between 100 and 200. low > 0.
    std::int64_t octaves(std::int64_t low, std::int64_t high);
    /// Waiting times of independent arrivals: about exponential, with this mean.
    std::int64_t wait(std::int64_t mean);
    bool percent(int pct) { return between(1, 100) <= pct; }

  private:
    std::uint64_t state_;
};

/// Mixes a value into a running hash.
[[nodiscard]] std::uint64_t mixed(std::uint64_t hash, std::uint64_t value);

}  // namespace kvalet::sim
