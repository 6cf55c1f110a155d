// What the scheduler may know: the state of one step as plain numbers. Built by the engine, or by a test, a
// simulator or a property generator. Everything is ordered; nothing points outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/ids.h"
#include "sched/reason.h"

namespace kvalet::sched {

/// Most slots: libllama's sequence ids end below it.
constexpr std::size_t kMaxSlots = 256;

enum class Phase : std::uint8_t { prefilling, decoding, replaying };

/// A sequence whose KV is in the pool. It has `length` tokens that it should have computed and `computed`
/// that it has, and catches up: prompt, decode and replay are one rule.
struct Resident {
    TaskId task;
    SlotId slot;
    std::int32_t priority = 0;
    std::int32_t parks = 0;   // how often it was parked
    std::int32_t passes = 0;  // how often a later one was let in before it
    Tokens n_prompt;
    Tokens length;      // prompt + generated
    Tokens computed;    // <= length
    Tokens replay_end;  // tokens below it were computed once before: computed < replay_end is a replay
    Tokens draft;       // draft tokens it may verify this step, while decoding; length + draft fit the pool
    Tokens run;         // generated since it was resumed (P4.3)
    Cells cells;        // that parking it would free
    Bytes snapshot;     // host memory that swapping it would take
    bool can_swap = true;
    bool can_drop = true;
    bool family = false;       // parent or child of an n > 1 request: no candidate (P2.2)
    bool blocked = false;      // its reader has no room for a token: it is not fed
    bool park_forced = false;  // P1.4
    bool park_asked = false;   // P1.5
};

/// Alive without cells.
struct Parked {
    TaskId task;
    SlotId slot = kNoSlot;  // kNoSlot: it gave up its slot too (P1.6)
    std::int32_t priority = 0;
    std::int32_t parks = 0;
    std::int32_t passes = 0;
    std::uint64_t parked_at = 0;  // order of parking, unique: smaller is longer ago
    Tokens n_prompt;
    Tokens length;
    Tokens computed;  // the most that it ever had computed, and needs again
    Tokens stored;    // tokens whose KV its snapshot brings back; 0 when dropped
    Tokens draft;
    ParkMode mode = ParkMode::swap;
    bool held = false;  // no candidate yet: parked by a client (P7.3), or its reader is behind
};

/// The head of the queue of those that never ran. Heads only: one for each idle slot and one more.
struct Waiting {
    TaskId task;
    std::int32_t priority = 0;
    std::int32_t passes = 0;
    Tokens n_prompt;
    SlotId slot = kNoSlot;     // the idle slot that the engine chose for it; kNoSlot: none is idle
    Tokens keep;               // tokens of that slot's cache that it shares; fewer than n_prompt
    std::int32_t n_slots = 1;  // slots it needs at once (n > 1)
};

/// A slot without a living sequence. Its cells are only a prompt cache.
struct IdleSlot {
    SlotId slot;
    Cells cached;
    std::uint64_t last_used = 0;  // unique unless never used: smaller is longer ago
};

struct View {
    std::uint64_t step = 0;
    bool unified = true;
    Cells pool;                       // all cells
    Cells used;                       // held now: residents and idle slots
    Tokens n_batch;                   // most tokens in one step; at least the verify blocks of all slots
    Tokens n_ubatch;                  // most prompt tokens in one step while nobody decodes
    Bytes parked_bytes;               // of the budget that is in use
    std::optional<TaskId> survivor;   // P2.3, as the last plan left it
    std::vector<Resident> residents;  // by slot
    std::vector<Parked> parked;       // by parked_at
    std::vector<Waiting> waiting;     // by effective priority, then task
    std::vector<IdleSlot> idle;       // by slot
};

// ---- words of P0 as functions
// ---------------------------------------------------------------------------------------

[[nodiscard]] constexpr Phase phase_of(const Resident& r) {
    if (r.computed < r.replay_end) {
        return Phase::replaying;
    }
    return r.computed < r.n_prompt ? Phase::prefilling : Phase::decoding;
}

[[nodiscard]] constexpr Tokens remaining(const Resident& r) {
    return r.length - r.computed;
}

/// Priority + one for every n_starved parks (P0) or times that a later one was let in first, so that no
/// stream of more important requests keeps one out for ever.
template <class Sequence>
[[nodiscard]] constexpr std::int32_t effective_priority(const Sequence& s, int n_starved) {
    if constexpr (requires { s.parks; }) {
        return s.priority + (s.parks + s.passes) / n_starved;
    } else {
        return s.priority + s.passes / n_starved;
    }
}

[[nodiscard]] inline const Resident* find_resident(const View& v, TaskId task) {
    for (const Resident& r : v.residents) {
        if (r.task == task) {
            return &r;
        }
    }
    return nullptr;
}

}  // namespace kvalet::sched
