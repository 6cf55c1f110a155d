// Stage 4 of a plan: which waiting request gets a slot, and what a more important one may take (P1.6).
#include <algorithm>

#include "sched/draft.h"
#include "sched/mechanism.h"
#include "sched/victim.h"

namespace kvalet::sched {

namespace {

/// The parked come first: nobody new of the same or lower importance takes cells while one waits for them
/// (F6).
bool parked_go_first(const Draft& d, const Waiting& w) {
    for (std::size_t i = 0; i < d.view.parked.size(); ++i) {
        if (d.waits_for_room(i) && d.effective(d.view.parked[i]) >= d.effective(w)) {
            return true;
        }
    }
    return false;
}

/// Who is never displaced by the newcomer: the survivor, unless the newcomer has the higher priority itself
/// and does not only wait for long.
std::optional<TaskId> safe_from(const Draft& d, const Waiting& w) {
    const auto survivor = choose_survivor(d.view, d.policy, d.out.resident_marks);
    return survivor && find_resident(d.view, *survivor)->priority < w.priority ? std::nullopt : survivor;
}

/// Cells of residents that the newcomer may displace, because they are less important and can be parked.
Cells displaceable(const Draft& d, const Waiting& w) {
    Cells sum{0};
    if (d.policy.victim != VictimOrder::priority) {
        return sum;
    }
    const auto safe = safe_from(d, w);
    for (std::size_t i = 0; i < d.view.residents.size(); ++i) {
        const Resident& r = d.view.residents[i];
        const bool lower = d.out.resident_marks[i] == kStays && !r.family && r.task != safe &&
                           d.effective(r) < d.effective(w);
        if (lower && mechanism_for(r, d.policy, d.held)) {
            sum += r.cells + claim_of(r);
        }
    }
    return sum;
}

/// The rest of its prompt, once for a whole family, and a first token for each member.
Cells first_need(const Waiting& w, Tokens keep) {
    return cells_of(w.n_prompt - keep + Tokens{w.n_slots});
}

/// The whole prompt and a first token must fit beside what is promised, or beside what it may displace, and
/// leave all that then run room to grow. An empty pool takes any prompt that fits it at all.
bool fits(const Draft& d, const Waiting& w, Tokens keep) {
    if (!d.policy.preempt || !d.view.unified || d.n_staying == 0) {
        return true;
    }
    const Cells taken = d.used - d.idle + cells_of(keep) + d.claimed + first_need(w, keep);
    const auto n_running = static_cast<std::int64_t>(d.n_staying) + w.n_slots;
    const Cells growth{d.policy.growth.value() * n_running};
    return taken + growth <= resume_limit(d.view, d.policy) + displaceable(d, w);
}

void give_slot(Draft& d, const Waiting& w, SlotId slot, Tokens keep) {
    d.claimed += first_need(w, keep);
    ++d.n_staying;
    d.out.actions.emplace_back(Admit{w.task, slot, keep});
    d.add_runner(w.task, d.effective(w), w.n_prompt - keep, false);
}

/// Slots to be had for nothing: idle, or of those that clients hold.
std::int32_t n_open_slots(const Draft& d) {
    std::int32_t n = 0;
    for (const char mark : d.out.idle_marks) {
        n += mark != kTaken ? 1 : 0;
    }
    for (std::size_t i = 0; i < d.view.parked.size(); ++i) {
        const Parked& p = d.view.parked[i];
        n += p.held && p.slot != kNoSlot && d.out.parked_marks[i] == kStays ? 1 : 0;
    }
    return n;
}

/// The slots of a family's children: idle ones, least recently used first, then those of held sequences.
void attach_children(Draft& d, const Waiting& w) {
    for (std::int32_t i = 1; i < w.n_slots; ++i) {
        if (const auto slot = d.free_slot()) {
            d.evict_idle(*slot);
            d.out.idle_marks[*slot] = kTaken;
            d.out.actions.emplace_back(Attach{w.task, d.view.idle[*slot].slot});
        } else {
            d.out.actions.emplace_back(Attach{w.task, d.yield_slot(d.slot_on_hold().value())});
        }
    }
}

/// A family needs all its slots at once; until they are there it waits, and nobody behind it is let in before
/// it.
bool admit_to_idle(Draft& d, const Waiting& w) {
    if (n_open_slots(d) < w.n_slots) {
        return false;
    }
    for (std::size_t i = 0; i < d.view.idle.size(); ++i) {
        const IdleSlot& idle = d.view.idle[i];
        if (idle.slot != w.slot || d.out.idle_marks[i] == kTaken) {
            continue;
        }
        const bool cached = d.out.idle_marks[i] == kStays;
        const Tokens keep = cached ? w.keep : Tokens{0};
        if (!fits(d, w, keep)) {
            return false;
        }
        if (cached) {
            // The part it shares stays; the rest is given up by the admission itself.
            d.used -= idle.cached - cells_of(keep);
            d.idle -= idle.cached;
        }
        d.out.idle_marks[i] = kTaken;
        if (d.view.unified) {
            d.evict_idle_until(d.claimed + first_need(w, keep), d.view.pool);
        }
        give_slot(d, w, idle.slot, keep);
        attach_children(d, w);
        return true;
    }
    return false;
}

/// The least important parked sequence that holds a slot and is strictly less important than the newcomer.
std::optional<std::size_t> parked_below(const Draft& d, std::int32_t tier) {
    std::optional<std::size_t> lowest;
    for (std::size_t i = 0; i < d.view.parked.size(); ++i) {
        const Parked& p = d.view.parked[i];
        const bool holds = p.slot != kNoSlot && d.out.parked_marks[i] == kStays && d.effective(p) < tier;
        if (holds && (!lowest || d.effective(p) < d.effective(d.view.parked[*lowest]))) {
            lowest = i;
        }
    }
    return lowest;
}

// Where a newcomer finds no idle slot, but room for its whole prompt:
//  1. the slot of one that a client holds parked, and as many of them as a family needs;
//  2. P1.6: that of the least important parked one, strictly less important than the newcomer;
//  3. P1.6: that of the first victim among the residents, strictly less important likewise.
bool take_a_slot(Draft& d, const Waiting& w) {
    if (!d.policy.preempt || !d.view.unified || !fits(d, w, Tokens{0})) {
        return false;
    }
    std::optional<std::size_t> parked;
    if (n_open_slots(d) >= w.n_slots) {
        parked = d.slot_on_hold();  // 1.
    }
    const bool pressure =
        d.policy.slot_pressure && d.policy.victim == VictimOrder::priority && w.n_slots == 1;
    const std::int32_t tier = d.effective(w);
    if (!parked && pressure) {
        parked = parked_below(d, tier);  // 2.
    }
    if (parked) {
        give_slot(d, w, d.yield_slot(*parked), Tokens{0});
        attach_children(d, w);
        return true;
    }
    const auto victim = pressure
                            ? choose_victim(d.view, d.policy, d.out.resident_marks, d.held, safe_from(d, w))
                            : std::nullopt;  // 3.
    if (!victim || d.effective(d.view.residents[*victim]) >= tier) {
        return false;
    }
    const Resident& r = d.view.residents[*victim];
    const auto mode = mechanism_for(r, d.policy, d.held);
    d.claimed -= claim_of(r);
    d.park(*victim, mode.value_or(ParkMode::drop), ParkReason::priority, true);
    give_slot(d, w, r.slot, Tokens{0});
    return true;
}

}  // namespace

// Who is let in, head of the queue first, until one cannot be:
//  1. Nobody in a step that had to park for room.
//  2. Nobody while one that is parked and as important waits for cells (F6).
//  3. An idle slot, if the whole prompt fits.
//  4. No idle slot: one that is taken from somebody.
void let_in(Draft& d) {
    for (const Waiting& w : d.view.waiting) {
        if (d.parked_for_room || (d.policy.preempt && parked_go_first(d, w))) {  // 1. 2.
            return;
        }
        if (w.slot != kNoSlot) {
            if (!admit_to_idle(d, w)) {  // 3.
                return;
            }
            continue;
        }
        if (!take_a_slot(d, w)) {  // 4.
            return;
        }
    }
}

}  // namespace kvalet::sched
