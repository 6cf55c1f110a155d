// Why and how a sequence is parked; the words of P0 and P6.1, used alike by plan, log, metric label and
// notice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kvalet::sched {

enum class ParkMode : std::uint8_t { swap, drop };

enum class ParkReason : std::uint8_t { kv_full, watermark, priority, explicit_park, forced, slow_reader };
constexpr std::size_t kParkReasons = 6;

/// "swap", "recompute" (what P6.2 calls a drop).
[[nodiscard]] constexpr std::string_view name_of(ParkMode mode) {
    return mode == ParkMode::swap ? "swap" : "recompute";
}

[[nodiscard]] constexpr std::string_view name_of(ParkReason reason) {
    constexpr std::string_view names[kParkReasons] = {"kv_full",  "watermark", "priority",
                                                      "explicit", "forced",    "slow_reader"};
    return names[static_cast<std::size_t>(reason)];
}

}  // namespace kvalet::sched
