#include "sched/plan.h"

#include <algorithm>
#include <limits>

#include "sched/draft.h"
#include "sched/victim.h"

namespace kvalet::sched {

namespace {

/// P2.3. A survivor is needed while anything is parked for want of room, and no longer.
bool pressure_lasts(const Draft& d) {
    if (d.parked_for_room) {
        return true;
    }
    for (std::size_t i = 0; i < d.view.parked.size(); ++i) {
        if (d.waits_for_room(i)) {
            return true;
        }
    }
    return false;
}

/// Nobody computes and nothing changed, though somebody should: what cannot fit ends (P4.5, P4.6). The least
/// important goes first, the newest of equals. Only families can bring this about: everybody else can be
/// parked.
void end_a_wedge(Draft& d) {
    const Resident* last = nullptr;
    for (const Resident& r : d.view.residents) {
        if (r.blocked || remaining(r) == Tokens{0}) {
            continue;
        }
        const bool lower = last == nullptr || d.effective(r) < d.effective(*last) ||
                           (d.effective(r) == d.effective(*last) && r.task > last->task);
        last = lower ? &r : last;
    }
    if (last != nullptr) {
        d.out.actions.emplace_back(Finish{last->task});
    }
}

/// Nobody less important comes back before the head of the queue was offered its place: it would only be
/// parked again at once.
std::int32_t tier_of_queue(const Draft& d) {
    std::int32_t tier = std::numeric_limits<std::int32_t>::min();
    if (d.policy.victim == VictimOrder::priority) {
        for (const Waiting& w : d.view.waiting) {
            tier = std::max(tier, d.effective(w));
        }
    }
    return tier;
}

}  // namespace

Draft::Draft(const View& v, const Policy& p, Plan& o)
    : view(v), policy(p), out(o), used(v.used), held(v.parked_bytes) {
    out.actions.clear();
    out.runners.clear();
    out.order.clear();
    out.resident_marks.assign(view.residents.size(), kStays);
    out.idle_marks.assign(view.idle.size(), kStays);
    out.parked_marks.assign(view.parked.size(), kStays);
    n_staying = view.residents.size();
    for (const IdleSlot& slot : view.idle) {
        idle += slot.cached;
    }
}

void Draft::evict_idle(std::size_t index) {
    const IdleSlot& slot = view.idle[index];
    if (out.idle_marks[index] == kStays && slot.cached > Cells{0}) {
        used -= slot.cached;
        idle -= slot.cached;
        out.actions.emplace_back(EvictIdle{slot.slot});
    }
    out.idle_marks[index] = kLeaves;
}

void Draft::evict_idle_until(Cells need, Cells limit) {
    while (used + need > limit && idle > Cells{0}) {
        std::optional<std::size_t> oldest;
        for (std::size_t i = 0; i < view.idle.size(); ++i) {
            const bool open = out.idle_marks[i] == kStays && view.idle[i].cached > Cells{0};
            if (open && (!oldest || view.idle[i].last_used < view.idle[*oldest].last_used)) {
                oldest = i;
            }
        }
        if (!oldest) {
            return;
        }
        evict_idle(*oldest);
    }
}

std::optional<std::size_t> Draft::free_slot() const {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < view.idle.size(); ++i) {
        const bool open = out.idle_marks[i] != kTaken;
        if (open && (!best || view.idle[i].last_used < view.idle[*best].last_used)) {
            best = i;
        }
    }
    return best;
}

std::optional<std::size_t> Draft::slot_on_hold() const {
    for (std::size_t i = 0; i < view.parked.size(); ++i) {
        const Parked& p = view.parked[i];
        if (p.held && p.slot != kNoSlot && out.parked_marks[i] == kStays) {
            return i;
        }
    }
    return std::nullopt;
}

SlotId Draft::yield_slot(std::size_t parked) {
    out.parked_marks[parked] = kTaken;
    out.actions.emplace_back(YieldSlot{view.parked[parked].task});
    return view.parked[parked].slot;
}

void plan_into(const View& view, const Policy& policy, Plan& out) {
    Draft d(view, policy, out);
    park_asked_for(d);  // 1.
    make_room(d);       // 2.
    d.claimed = claims(view, out.resident_marks);
    order_parked(d);
    bring_back(d, tier_of_queue(d));                          // 3.
    let_in(d);                                                // 4.
    bring_back(d, std::numeric_limits<std::int32_t>::min());  // 5.
    park_one_not_read(d);                                     // 6.
    feed(d);                                                  // 7.
    if (out.actions.empty() && view.unified) {
        end_a_wedge(d);  // 8.
    }
    out.survivor = pressure_lasts(d) ? choose_survivor(view, policy, out.resident_marks) : std::nullopt;
}

Plan plan(const View& view, const Policy& policy) {
    Plan out;
    plan_into(view, policy, out);
    return out;
}

}  // namespace kvalet::sched
