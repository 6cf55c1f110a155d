// A plan in the making: the view plus what the plan has decided so far. Private to sched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "sched/plan.h"
#include "sched/policy.h"
#include "sched/trigger.h"
#include "sched/view.h"

namespace kvalet::sched {

struct Draft {
    const View& view;
    const Policy& policy;
    Plan& out;

    Cells used;     // after the actions so far
    Cells idle;     // of these, prompt cache of idle slots that could still be emptied
    Cells claimed;  // promised to residents, and to what came back or was let in by this plan
    Bytes held;     // host memory in use after the actions so far
    std::size_t n_staying = 0;
    bool parked_for_room = false;  // P1.2 had to park: nothing comes back in this step

    Draft(const View& v, const Policy& p, Plan& o);

    /// Empties idle slots, least recently used first, until at most `limit` cells are used with `need` more
    /// (P1.3).
    void evict_idle_until(Cells need, Cells limit);
    void evict_idle(std::size_t index);
    /// The least recently used idle slot that no action of this plan took.
    [[nodiscard]] std::optional<std::size_t> free_slot() const;
    /// A slot whose sequence a client holds parked: it is away by choice and stands in nobody's way (F27).
    [[nodiscard]] std::optional<std::size_t> slot_on_hold() const;
    /// Whether the parked one is not held and stays parked by this plan: it waits for room.
    [[nodiscard]] bool waits_for_room(std::size_t parked) const {
        return !view.parked[parked].held && out.parked_marks[parked] != kLeaves;
    }
    /// The parked one gives up its slot.
    SlotId yield_slot(std::size_t parked);

    void park(std::size_t resident, ParkMode mode, ParkReason reason, bool gives_up_slot = false);
    void add_runner(TaskId task, std::int32_t effective, Tokens remaining, bool decoding);

    [[nodiscard]] std::int32_t effective(const auto& sequence) const {
        return effective_priority(sequence, policy.n_starved);
    }
};

// The stages of plan(), in order; each in a file of its own.
void park_asked_for(Draft& d);  // park.cpp: P1.4, P1.5
void make_room(Draft& d);       // park.cpp: P1.2, P1.3, P2
void order_parked(Draft& d);    // resume.cpp: who may come back, first first, into out.order (P4.2)
void bring_back(Draft& d, std::int32_t tier);  // resume.cpp: P4, those of this effective priority and above
void let_in(Draft& d);                         // admit.cpp: P1.6 and the queue
void park_one_not_read(Draft& d);              // park.cpp: a resident that its reader holds up
void feed(Draft& d);                           // feed.cpp

}  // namespace kvalet::sched
