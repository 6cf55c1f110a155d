#include "sim/spread.h"

#include <algorithm>
#include <bit>

namespace kvalet::sim {

namespace {

// Values below kParts have a bucket each; above, each octave has kParts of them.
constexpr unsigned kPartBits = 6;
constexpr std::uint64_t kParts = 1U << kPartBits;
constexpr std::size_t kBuckets = (64 - kPartBits) * kParts;

std::size_t bucket_of(std::uint64_t v) {
    if (v < kParts) {
        return v;
    }
    const auto shift = static_cast<unsigned>(std::bit_width(v)) - kPartBits - 1;
    return (shift + 1) * kParts + ((v >> shift) - kParts);
}

std::int64_t upper_end(std::size_t bucket) {
    if (bucket < kParts) {
        return static_cast<std::int64_t>(bucket);
    }
    const unsigned shift = static_cast<unsigned>(bucket / kParts) - 1;
    return static_cast<std::int64_t>(((bucket % kParts + kParts + 1) << shift) - 1);
}

}  // namespace

Spread::Spread() : buckets_(kBuckets, 0) {}

void Spread::add(std::int64_t value) {
    ++buckets_[bucket_of(static_cast<std::uint64_t>(std::max<std::int64_t>(0, value)))];
    ++n_;
    largest_ = std::max(largest_, value);
}

std::int64_t Spread::percentile(int pct) const {
    std::int64_t left = (n_ * pct + 99) / 100;
    for (std::size_t i = 0; i < buckets_.size() && left > 0; ++i) {
        left -= buckets_[i];
        if (left <= 0) {
            return std::min(upper_end(i), largest_);
        }
    }
    return 0;
}

}  // namespace kvalet::sim
