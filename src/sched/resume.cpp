// Stage 3 of a plan: who comes back, and when (P4).
#include <algorithm>
#include <tuple>

#include "sched/draft.h"

namespace kvalet::sched {

namespace {

/// P4.1. Cells that it needs before it is worth bringing back: all that it had and its next step; in its
/// prompt the whole prompt and the first token, so that it does not come back for one chunk only (F5).
Tokens need_of(const Parked& p) {
    const bool in_prompt = p.computed < p.n_prompt;
    return in_prompt ? p.n_prompt + Tokens{1} : p.length + p.draft;
}

/// P4.2.
bool comes_before(const Draft& d, const Parked& a, const Parked& b) {
    // Larger parks first, earlier parking first; parked_at is unique.
    const auto fit = [](const Parked& p) { return std::tuple(-p.parks, p.parked_at); };
    const auto by_tier = [&d](const Parked& p) { return -d.effective(p); };
    switch (d.policy.resume) {
        case ResumeOrder::fit:
            return fit(a) < fit(b);
        case ResumeOrder::fair:  // within a priority, where priorities count at all
            return d.policy.victim == VictimOrder::priority
                       ? std::tuple(by_tier(a), a.parked_at) < std::tuple(by_tier(b), b.parked_at)
                       : a.parked_at < b.parked_at;
        case ResumeOrder::priority:
            break;
    }
    return std::tuple(by_tier(a), fit(a)) < std::tuple(by_tier(b), fit(b));
}

/// The one that comes back last, of those after place `place` in the order that hold a slot. To one that is
/// parked a slot is of no use before its turn.
std::optional<std::size_t> last_holder_after(const Draft& d, std::size_t place) {
    for (std::size_t k = d.out.order.size(); k > place + 1; --k) {
        const std::size_t i = d.out.order[k - 1];
        if (d.view.parked[i].slot != kNoSlot && d.out.parked_marks[i] == kStays) {
            return i;
        }
    }
    return std::nullopt;
}

// The slot that it comes back to:
//  1. its own;
//  2. the idle one that was used least recently;
//  3. that of one that a client holds;
//  4. that of one that comes back after it.
std::optional<SlotId> slot_for(Draft& d, std::size_t place) {
    const Parked& p = d.view.parked[d.out.order[place]];
    if (p.slot != kNoSlot) {  // 1.
        return p.slot;
    }
    if (const auto i = d.free_slot()) {  // 2.
        d.evict_idle(*i);
        d.out.idle_marks[*i] = kTaken;
        return d.view.idle[*i].slot;
    }
    if (const auto i = d.slot_on_hold()) {  // 3.
        return d.yield_slot(*i);
    }
    if (const auto i = last_holder_after(d, place)) {  // 4.
        return d.yield_slot(*i);
    }
    return std::nullopt;
}

/// Cells left free beside it.
Cells margin_of(const Draft& d, const Parked& p) {
    const Tokens replay = d.policy.replay_pays ? p.computed - p.stored : Tokens{0};
    return cells_of(std::max(d.policy.resume_margin, replay));
}

/// Whether it may come back now. With nothing resident, margins and LOW are waived (P4.4).
bool fits(const Draft& d, const Parked& p) {
    const bool alone = d.n_staying == 0;
    const Cells limit = alone ? d.view.pool : resume_limit(d.view, d.policy);
    const Cells margin = alone ? Cells{0} : margin_of(d, p);
    return d.used - d.idle + d.claimed + cells_of(need_of(p)) + margin <= limit;
}

bool bring_back_one(Draft& d, std::size_t place) {
    const std::size_t index = d.out.order[place];
    const Parked& p = d.view.parked[index];
    if (!fits(d, p)) {
        return false;
    }
    const auto slot = slot_for(d, place);
    if (!slot) {
        return false;
    }
    d.evict_idle_until(d.claimed + cells_of(need_of(p)), d.view.pool);
    d.used += cells_of(p.stored);
    d.claimed += cells_of(need_of(p) - p.stored);
    ++d.n_staying;
    d.out.parked_marks[index] = kLeaves;
    d.out.actions.emplace_back(Resume{p.task, *slot});
    const bool decoding = p.stored == p.computed && p.computed >= p.n_prompt;
    d.add_runner(p.task, d.effective(p), p.length - p.stored + p.draft, decoding);
    return true;
}

}  // namespace

void order_parked(Draft& d) {
    for (std::size_t i = 0; i < d.view.parked.size(); ++i) {
        if (!d.view.parked[i].held) {
            d.out.order.push_back(i);
        }
    }
    std::sort(d.out.order.begin(), d.out.order.end(), [&d](std::size_t a, std::size_t b) {
        return comes_before(d, d.view.parked[a], d.view.parked[b]);
    });
}

// Who comes back:
//  1. One that no longer fits the whole pool ends; it never waits for ever (P4.5).
//  2. Nobody in a step that had to park for room, unless nothing else runs (P4.4).
//  3. `fit`, `priority`: in order, each that fits. `fair`: in order, until one does not fit.
void bring_back(Draft& d, std::int32_t tier) {
    for (std::size_t place = 0; place < d.out.order.size(); ++place) {
        const std::size_t i = d.out.order[place];
        const Parked& p = d.view.parked[i];
        if (d.out.parked_marks[i] != kStays || d.effective(p) < tier) {
            continue;
        }
        if (cells_of(need_of(p)) > d.view.pool) {  // 1.
            d.out.parked_marks[i] = kLeaves;
            d.out.actions.emplace_back(Finish{p.task});
            continue;
        }
        if (d.parked_for_room && d.n_staying > 0) {  // 2.
            continue;
        }
        if (!bring_back_one(d, place) && d.policy.resume == ResumeOrder::fair) {  // 3.
            return;
        }
    }
}

}  // namespace kvalet::sched
