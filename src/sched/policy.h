// The knobs of the scheduler: three small closed choices and numbers (P1-P5).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/ids.h"

namespace kvalet::sched {

enum class Trigger : std::uint8_t { full, watermark };                 // P1.2
enum class VictimOrder : std::uint8_t { smallest, newest, priority };  // P2.1
enum class ResumeOrder : std::uint8_t { fit, fair, priority };         // P4.2

constexpr std::int64_t kUnlimited = -1;
constexpr std::int64_t kMiB = 1024 * 1024;

struct Policy {
    bool preempt = true;  // false: llama-server's old behaviour, everybody fails when the pool is full
    Trigger trigger = Trigger::full;
    int high_pct = 94;  // watermark only
    int low_pct = 80;   // watermark only
    VictimOrder victim = VictimOrder::priority;
    /// VictimOrder::priority: in a tier the one with the fewest tokens goes first, not the newest. See
    /// docs/design/default-preset.md.
    bool smallest_in_tier = false;
    ResumeOrder resume = ResumeOrder::fair;
    std::int64_t budget_bytes = 8192 * kMiB;  // P3.1; kUnlimited: always swap, 0: always drop
    Tokens min_run{32};                       // P4.3
    Tokens resume_margin{8};  // cells left free beside one that comes back, lest it be parked at once (P4.4)
    /// Tokens that whoever runs can still make, each of them, when a new request is let in: one let in just
    /// before the pool is full only drives somebody out. 0: its prompt fits, no more is asked.
    Tokens growth{16};
    /// One that was dropped comes back beside others only where as many cells stay free as it replays, so
    /// that they make more tokens than it costs before somebody is parked again.
    bool replay_pays = true;
    bool slot_pressure = true;  // P1.6
    int n_starved = 3;          // P0 "starved"; also the parks that make one step of promotion
    /// Prompt tokens fed in one step while another sequence decodes, so that a long prompt never stalls its
    /// tokens.
    Tokens prefill_chunk{64};
};

/// P5. The presets by name, or nothing for a name it does not know.
[[nodiscard]] std::optional<Policy> preset(std::string_view name);

/// Names of all presets, in the order of P5, for messages and for the simulator.
constexpr std::string_view kPresets[] = {"swap", "recompute", "hybrid", "watermark", "priority", "default"};

[[nodiscard]] std::optional<Trigger> trigger_of(std::string_view name);
[[nodiscard]] std::optional<VictimOrder> victim_order_of(std::string_view name);
[[nodiscard]] std::optional<ResumeOrder> resume_order_of(std::string_view name);

}  // namespace kvalet::sched
