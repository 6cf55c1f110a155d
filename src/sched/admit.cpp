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
        const Parked& p = d.view.parked[i];
        if (d.out.parked_marks[i] == kStays && !p.held && d.effective(p) >= d.effective(w)) {
            return true;
        }
    }
    return false;
}

/// Cells of residents that the newcomer may displace, because they are less important and can be parked.
Cells displaceable(const Draft& d, const Waiting& w) {
    Cells sum{0};
    if (d.policy.victim != VictimOrder::priority) {
        return sum;
    }
    for (std::size_t i = 0; i < d.view.residents.size(); ++i) {
        const Resident& r = d.view.residents[i];
        const bool lower = d.out.resident_marks[i] == kStays && !r.family && d.effective(r) < d.effective(w);
        if (lower && mechanism_for(r, d.policy, d.held)) {
            sum += r.cells;
        }
    }
    return sum;
}

/// The whole prompt and a first token must fit beside what is promised, or beside what it may displace. An
/// empty pool takes any prompt that fits it at all.
bool fits(const Draft& d, const Waiting& w, Cells own_cache) {
    if (!d.policy.preempt || !d.view.unified || (d.n_staying == 0 && d.out.runners.empty())) {
        return true;
    }
    const Cells need = cells_of(w.n_prompt - w.keep + Tokens{1});
    const Cells kept = std::min(own_cache, cells_of(w.keep));
    const Cells taken = d.used - d.idle + kept + d.claimed + need;
    return taken <= resume_limit(d.view, d.policy) + displaceable(d, w);
}

void give_slot(Draft& d, const Waiting& w, SlotId slot, Tokens keep) {
    d.claimed += cells_of(w.n_prompt - keep + Tokens{1});
    ++d.n_staying;
    d.out.actions.emplace_back(Admit{w.task, slot, keep});
    d.add_runner(w.task, d.effective(w), w.n_prompt - keep, false);
}

bool admit_to_idle(Draft& d, const Waiting& w) {
    for (std::size_t i = 0; i < d.view.idle.size(); ++i) {
        const IdleSlot& idle = d.view.idle[i];
        if (idle.slot != w.slot || d.out.idle_marks[i] == kTaken) {
            continue;
        }
        const bool cached = d.out.idle_marks[i] == kStays;
        const Tokens keep = cached ? w.keep : Tokens{0};
        if (!fits(d, w, cached ? idle.cached : Cells{0})) {
            return false;
        }
        if (cached) {
            // The part it shares stays; the rest is given up by the admission itself.
            d.used -= idle.cached - cells_of(keep);
            d.idle -= idle.cached;
        }
        d.out.idle_marks[i] = kTaken;
        if (d.view.unified) {
            d.evict_idle_until(d.claimed + cells_of(w.n_prompt - keep + Tokens{1}), d.view.pool);
        }
        give_slot(d, w, idle.slot, keep);
        return true;
    }
    return false;
}

/// P1.6. The least important holder of a slot that is strictly less important than the newcomer: a parked one
/// gives up its slot before a resident does.
bool take_a_slot(Draft& d, const Waiting& w) {
    const std::int32_t tier = d.effective(w);
    std::optional<std::size_t> parked;
    for (std::size_t i = 0; i < d.view.parked.size(); ++i) {
        const Parked& p = d.view.parked[i];
        const bool holds = p.slot != kNoSlot && d.out.parked_marks[i] == kStays && d.effective(p) < tier;
        if (holds && (!parked || d.effective(p) < d.effective(d.view.parked[*parked]))) {
            parked = i;
        }
    }
    if (parked) {
        const Parked& p = d.view.parked[*parked];
        d.out.parked_marks[*parked] = kTaken;
        d.out.actions.emplace_back(YieldSlot{p.task});
        give_slot(d, w, p.slot, Tokens{0});
        return true;
    }
    const auto survivor = choose_survivor(d.view, d.policy, d.out.resident_marks);
    const bool yields = survivor && find_resident(d.view, *survivor)->priority < w.priority;
    const auto victim =
        choose_victim(d.view, d.policy, d.out.resident_marks, d.held, yields ? std::nullopt : survivor);
    if (!victim || d.effective(d.view.residents[*victim]) >= tier) {
        return false;
    }
    const Resident& r = d.view.residents[*victim];
    const auto mode = mechanism_for(r, d.policy, d.held);
    d.claimed -= cells_of(remaining(r) + r.draft);
    d.park(*victim, mode.value_or(ParkMode::drop), ParkReason::priority, true);
    give_slot(d, w, r.slot, Tokens{0});
    return true;
}

}  // namespace

// Who is let in, head of the queue first, until one cannot be:
//  1. Nobody in a step that had to park for room, unless it is more important than all that is parked.
//  2. Nobody while one that is parked and as important waits for cells (F6).
//  3. An idle slot, if the whole prompt fits.
//  4. No idle slot: a strictly more important one takes the slot of the least important holder (P1.6).
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
        const bool may_take = d.policy.preempt && d.policy.slot_pressure && d.view.unified &&
                              d.policy.victim == VictimOrder::priority && w.n_slots == 1;
        if (!may_take || !take_a_slot(d, w)) {  // 4.
            return;
        }
    }
}

}  // namespace kvalet::sched
