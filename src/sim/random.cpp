#include "sim/random.h"

#include <algorithm>
#include <bit>

namespace kvalet::sim {

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
    hash ^= value + 0x9E3779B97F4A7C15ULL;
    hash = (hash ^ (hash >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    hash = (hash ^ (hash >> 27U)) * 0x94D049BB133111EBULL;
    return hash ^ (hash >> 31U);
}

Random::Random(std::uint64_t seed, std::uint64_t nth) : state_(mixed(mixed(0, seed), nth)) {}

std::uint64_t Random::next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    return mixed(0, state_);
}

std::int64_t Random::between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
}

// First an octave, each as likely, cut off at both ends; then a number in it.
std::int64_t Random::octaves(std::int64_t low, std::int64_t high) {
    const auto octave_of = [](std::int64_t v) { return std::bit_width(static_cast<std::uint64_t>(v)) - 1; };
    const std::int64_t octave = between(octave_of(low), octave_of(high));
    return between(std::max(low, std::int64_t{1} << octave), std::min(high, (std::int64_t{2} << octave) - 1));
}

// -log2(u) is the number of leading zeros of u and a fraction, here taken as linear; times ln 2.
std::int64_t Random::wait(std::int64_t mean) {
    const std::uint64_t u = next() | 1U;
    const int zeros = std::countl_zero(u);
    constexpr std::int64_t kOne = 1024;
    const auto mantissa =
        static_cast<std::int64_t>((u << static_cast<unsigned>(zeros)) >> 53U);  // 1024 .. 2047
    const std::int64_t log2 = zeros * kOne + 2 * kOne - 1 - mantissa;
    constexpr std::int64_t kLn2 = 710;  // of 1024
    return mean * log2 / kOne * kLn2 / kOne;
}

}  // namespace kvalet::sim
