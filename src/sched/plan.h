// One step's decisions: a pure function from a view of the world to an ordered list of actions, and the judge
// that says whether such a list may be carried out. No model, clock, thread, log, socket or random number.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sched/policy.h"
#include "sched/reason.h"
#include "sched/view.h"

namespace kvalet::sched {

/// An idle slot's prompt cache is given up (P1.3).
struct EvictIdle {
    SlotId slot;
};
/// Frees the cells of a resident. gives_up_slot: its slot becomes idle as well (P1.6).
struct Park {
    TaskId task;
    ParkMode mode = ParkMode::swap;
    ParkReason reason = ParkReason::kv_full;
    bool gives_up_slot = false;
};
/// A parked sequence gives up its slot: to a more important request (P1.6), or, held by a client, to anybody.
struct YieldSlot {
    TaskId task;
};
/// Swapped: its bytes come back. Dropped: it is resident without cells and will replay.
struct Resume {
    TaskId task;
    SlotId slot;
};
/// A waiting request gets an idle slot; the slot's cache beyond `keep` is given up.
struct Admit {
    TaskId task;
    SlotId slot;
    Tokens keep;
};
/// A further idle slot for a family that was let in by the Admit before it (n > 1): its children decode
/// there.
struct Attach {
    TaskId parent;
    SlotId slot;
};
/// The sequence cannot go on in this pool: the ordinary context-overflow outcome (P4.5, P4.6).
struct Finish {
    TaskId task;
};
/// Only with preemption off: the pool is full and every resident fails, as on llama-server
/// (llama-server-api 3.10).
struct FailAll {};
/// The sequence computes its next n tokens.
struct Feed {
    TaskId task;
    Tokens n;
};

using Action = std::variant<EvictIdle, Park, YieldSlot, Resume, Admit, Attach, Finish, FailAll, Feed>;

/// One that may compute in this step, as the planner sees it after its own parks, resumes and admissions.
struct Runner {
    TaskId task;
    std::int32_t effective = 0;
    Tokens remaining;  // with drafts
    bool decoding = false;
};

/// Actions in the order in which they are to be applied. Reuse one object from step to step: it then
/// allocates nothing.
struct Plan {
    std::vector<Action> actions;
    std::optional<TaskId> survivor;  // P2.3, for the next view

    // The planner's own working space, kept here so that a step without pressure allocates nothing (P1.8).
    std::vector<char> resident_marks;
    std::vector<char> idle_marks;
    std::vector<char> parked_marks;
    std::vector<Runner> runners;
    std::vector<std::size_t> order;
};

/// Decides one step:
///  1. parks that were asked for or are forced (P1.4, P1.5);
///  2. room for the step: idle slots first, then victims (P1.2, P1.3, P2);
///  3. parked sequences that come back (P4), unless 2 had to park; where priorities count, only those that
///     are as important as the head of the queue;
///  4. waiting requests that get a slot (and P1.6);
///  5. the other parked ones, into what 4 left;
///  6. one that computes nothing because its reader is behind leaves, if somebody still waits for its place;
///  7. who computes how many tokens;
///  8. if all this is nothing although somebody wants to go on: what cannot fit ends.
/// The same view and policy always give the same plan.
void plan_into(const View& view, const Policy& policy, Plan& out);
[[nodiscard]] Plan plan(const View& view, const Policy& policy);

/// P1.7: the backend had no room although the ledger had. The next victim, or nothing when nobody can be
/// parked.
[[nodiscard]] std::optional<Park> one_more_victim(const View& view, const Policy& policy);

/// Whether the plan may be carried out in this state. On in release builds. `why` gets one sentence.
[[nodiscard]] bool valid(const View& view, const Policy& policy, const Plan& plan, std::string* why);

}  // namespace kvalet::sched
