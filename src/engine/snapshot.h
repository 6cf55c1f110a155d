// What the world may see of the engine: an immutable copy, published after every step. /health, /slots,
// /metrics, /requests read only this, so they answer at once while a long prompt is being processed (F25,
// F26).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.h"
#include "sched/reason.h"

namespace kvalet::engine {

/// Fixed buckets, cumulative like Prometheus wants them; counts[i] holds values <= bounds[i], the last holds
/// all.
struct Histogram {
    static constexpr std::size_t kBuckets = 12;
    std::array<double, kBuckets> bounds{};
    std::array<std::uint64_t, kBuckets + 1> counts{};  // not cumulative: one bucket each
    double sum = 0;
    std::uint64_t n = 0;
    void add(double value);
};

/// Counters since the start; they only grow (F24).
struct Counters {
    std::uint64_t prompt_tokens_total = 0;  // without cached ones, without replays (P6.3)
    std::uint64_t prompt_tokens_cached_total = 0;
    double prompt_seconds_total = 0;
    std::uint64_t tokens_predicted_total = 0;  // added when a request ends
    double tokens_predicted_seconds_total = 0;
    std::uint64_t n_decode_total = 0;
    std::uint64_t n_busy_slots_total = 0;  // busy slots summed over the decodes
    std::uint64_t n_tokens_max = 0;
    std::uint64_t n_preempt_total = 0;
    std::uint64_t n_resume_total = 0;
    std::uint64_t n_preempt_swap_total = 0;
    std::uint64_t n_preempt_recompute_total = 0;
    std::uint64_t n_recompute_tokens_total = 0;
    std::uint64_t n_kv_full_total = 0;         // P1.7
    std::uint64_t n_restore_failed_total = 0;  // P3.2
    std::array<std::uint64_t, sched::kParkReasons> n_park_by_reason{};
    std::uint64_t n_cache_saved_total = 0;  // prompt caches of idle slots that were put aside
    std::uint64_t n_cache_loaded_total = 0;
    std::uint64_t n_requests_total = 0;
    std::uint64_t n_finished_total = 0;
    std::uint64_t n_failed_total = 0;
    std::uint64_t n_cancelled_total = 0;
};

struct Histograms {
    Histogram parked_seconds, park_seconds, restore_seconds, parks_per_request;
};

enum class SequenceState : std::uint8_t { waiting, prefilling, decoding, swapped, dropped, finished };

/// One request that has not ended: where it is and what was done to it (P6.2).
struct SequenceInfo {
    TaskId task;
    std::string public_id;
    SequenceState state = SequenceState::waiting;
    SlotId slot = kNoSlot;
    std::int32_t priority = 0;
    std::int32_t effective_priority = 0;
    Tokens n_prompt;
    Tokens n_prompt_processed;  // computed so far, without cached
    Tokens n_prompt_cached;
    Tokens n_decoded;
    std::int64_t n_remain = -1;
    bool has_new_line = false;
    Cells n_cells;
    bool is_preempted = false;
    bool parked_by_client = false;
    std::uint32_t n_preempt = 0;
    std::uint64_t n_recompute = 0;
    std::optional<sched::ParkMode> preempt_mode;
    std::optional<sched::ParkReason> preempt_reason;
    double preempt_ms = 0;
    Bytes parked_bytes;
    std::shared_ptr<const std::string> params_json;
};

struct SlotInfo {
    SlotId id;
    bool is_processing = false;            // holds a sequence that has not ended, parked or not
    bool used = false;                     // ever had a task
    Tokens n_tokens;                       // tokens in the slot now (cached ones of an idle slot)
    std::optional<SequenceInfo> sequence;  // the current one, or the last one of an idle slot
};

struct Snapshot {
    std::uint64_t step = 0;
    Cells pool;         // -c
    Cells used;         // held now, prompt caches of idle slots included
    Cells used_idle;    // of these, caches of idle slots: given up as soon as anybody needs them
    Tokens n_ctx_slot;  // context of one slot
    bool unified = true;
    bool draining = false;
    bool preempt = true;
    std::int64_t budget_bytes = -1;  // -1: no limit
    Bytes parked_bytes;
    Bytes parked_bytes_max;
    Bytes cache_ram_bytes;           // of prompt caches that were put aside
    std::uint32_t n_processing = 0;  // resident
    std::uint32_t n_preempted = 0;
    std::uint32_t n_deferred = 0;  // waiting
    std::vector<SlotInfo> slots;
    std::vector<SequenceInfo> waiting;  // the head of the queue, at most kMaxListedWaiting
    std::vector<TaskId> queue;          // all of it
    std::vector<SequenceInfo> parked_without_slot;
    Counters counters;
    Histograms histograms;

    static constexpr std::size_t kMaxListedWaiting = 100;
};

}  // namespace kvalet::engine
