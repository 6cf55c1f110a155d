// How a quantity is spread: percentiles within 1.6 %, the exact largest, in constant memory.
#pragma once

#include <cstdint>
#include <vector>

namespace kvalet::sim {

class Spread {
  public:
    Spread();
    /// value >= 0
    void add(std::int64_t value);
    /// The value that pct percent of all do not exceed (the upper end of its bucket); 0 without values.
    [[nodiscard]] std::int64_t percentile(int pct) const;
    [[nodiscard]] std::int64_t largest() const { return largest_; }
    [[nodiscard]] std::int64_t count() const { return n_; }

  private:
    std::vector<std::int64_t> buckets_;
    std::int64_t n_ = 0;
    std::int64_t largest_ = 0;
};

}  // namespace kvalet::sim
