// One generation inside the engine.
//
// Thread: the engine thread alone.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/clock.h"
#include "core/ids.h"
#include "engine/park_store.h"
#include "engine/request.h"
#include "engine/snapshot.h"
#include "sched/reason.h"
#include "sched/view.h"

namespace kvalet::engine {

/// Whether `from` -> `to` is a step that a sequence may take; see the table in sequence.cpp.
[[nodiscard]] bool legal(SequenceState from, SequenceState to);

struct Sequence {
    Sequence(TaskId id, Request r, Micros now_us);

    TaskId task;
    Request request;

    /// Prompt and generated tokens. The first `computed` of them are in the KV pool (none while parked, then
    /// it is what it had); the last generated one is not yet.
    std::vector<Token> tokens;
    Tokens n_prompt;
    Tokens computed;
    Tokens replay_end;     // most that was ever computed, while it is being caught up with
    Tokens n_cached;       // prompt tokens taken from the slot's cache
    Tokens n_prompt_done;  // prompt tokens computed, each once

    SlotId slot = kNoSlot;
    std::int32_t priority = 0;
    std::int32_t parks = 0;
    std::int32_t passes = 0;
    std::uint64_t parked_at = 0;
    Tokens run;                  // generated since it was resumed
    Tokens since_forced;         // generated since the last forced park (P1.4)
    bool park_asked = false;     // P1.5, not yet carried out
    bool held = false;           // parked by a client (P7.3)
    ParkStore::Buffer snapshot;  // while swapped
    std::optional<sched::ParkMode> last_mode;
    std::optional<sched::ParkReason> last_reason;
    std::uint64_t n_recompute = 0;
    Tokens fed;        // in this step
    Tokens fed_again;  // of these, the ones that had been computed before

    // n > 1: the parent computes the prompt, its children share it.
    TaskId family{0};                 // the parent's task; 0: no family
    bool awaits_parent = false;       // a child whose prompt is not there yet: it is not fed
    bool owns_prompt = false;         // the cells of the shared prompt are booked on its slot
    std::vector<Sequence*> children;  // of a parent whose prompt is not computed yet

    Micros submitted_us = 0;
    Micros prompt_us = 0;       // without time parked or replaying (P6.3)
    Micros predict_us = 0;      // the same, for t_max_predict_ms
    Micros timed_until_us = 0;  // what is before it is in prompt_us or predict_us already
    Micros first_token_us = 0;
    Micros parked_since_us = 0;

    [[nodiscard]] SequenceState state() const { return state_; }
    /// The only way to change the state; asserts that the table allows it.
    void become(SequenceState to);

    [[nodiscard]] Tokens length() const { return Tokens{static_cast<std::int64_t>(tokens.size())}; }
    [[nodiscard]] Tokens n_decoded() const { return length() - n_prompt; }
    [[nodiscard]] Tokens most_computed() const { return computed > replay_end ? computed : replay_end; }
    [[nodiscard]] bool resident() const;
    [[nodiscard]] bool parked() const;
    [[nodiscard]] bool replaying() const { return computed < replay_end; }
    /// What is left of a time in this step when the part that a replay took is left out.
    [[nodiscard]] Micros without_replay(Micros us) const;
    [[nodiscard]] Timings timings(Micros now_us) const;

  private:
    SequenceState state_ = SequenceState::waiting;
};

}  // namespace kvalet::engine
