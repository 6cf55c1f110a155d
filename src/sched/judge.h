// What the judge of plans works with: a plan, read once in its order onto a ledger of the judge's own. It
// shares with the planner only the words of view.h and the rule of the mechanism (P3.1), so that a mistake in
// the planner is found here. Private to sched.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "sched/mechanism.h"
#include "sched/plan.h"
#include "sched/policy.h"
#include "sched/view.h"

namespace kvalet::sched {

/// What the plan does with one sequence. Without initialisers: only as many are set as the view has.
struct Fate {
    const Park* park;
    bool back;        // resumed, or let in
    bool yields;      // gives up its slot while parked
    bool slot_taken;  // the slot that it gave up has a new holder
    bool ends;
    Tokens keep;            // let in with so many cached tokens
    std::int32_t attached;  // further slots that its family got
    Tokens fed;
};

/// What it does with an idle slot.
struct IdleFate {
    bool emptied;
    bool given;
};

struct Reading {
    const View& view;
    const Policy& policy;
    const Plan& plan;
    std::array<Fate, kMaxSlots> residents;
    std::array<Fate, kMaxSlots + 1> waiting;
    std::array<IdleFate, kMaxSlots> idle;
    std::vector<Fate> parked;
    Cells used;  // after all
    Bytes held;
    Tokens fed;
    bool all_fail = false;
    std::string why;  // the first fault

    Reading(const View& v, const Policy& p, const Plan& a);

    void fault(const char* what) {
        if (why.empty()) {
            why = what;
        }
    }
    void expect(bool holds, TaskId task, const char* what) {
        if (!holds && why.empty()) {
            why = "task " + std::to_string(task.value()) + ": " + what;
        }
    }

    [[nodiscard]] std::int32_t effective(const auto& sequence) const {
        return effective_priority(sequence, policy.n_starved);
    }
    [[nodiscard]] bool preempts() const { return policy.preempt && view.unified; }
    /// Neither parked nor ended by the plan.
    [[nodiscard]] bool stays(std::size_t resident) const {
        return residents[resident].park == nullptr && !residents[resident].ends;
    }
    /// Whether the parked one could come back and does not.
    [[nodiscard]] bool stays_parked(std::size_t i) const {
        return !view.parked[i].held && !parked[i].back && !parked[i].ends;
    }
};

[[nodiscard]] constexpr bool is_for_room(const Park& park) {
    return park.reason == ParkReason::kv_full || park.reason == ParkReason::watermark;
}

/// P4.1: cells that a parked one needs before it comes back.
[[nodiscard]] constexpr Cells cells_to_come_back(const Parked& p) {
    return cells_of(p.computed < p.n_prompt ? p.n_prompt + Tokens{1} : p.length + p.draft);
}

/// Whether each action can be carried out where it stands: ids, slots, cells, bytes, tokens.
void judge_ledger(Reading& r);  // judge_ledger.cpp
/// Whether the parks and the ends are those that P1 to P4 ask for.
void judge_parks(Reading& r);  // judge_parks.cpp
/// Whether those that come back, are let in and are fed are those that P1.6 and P4 ask for.
void judge_runs(Reading& r);  // judge_runs.cpp

}  // namespace kvalet::sched
