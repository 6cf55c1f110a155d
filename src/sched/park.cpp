// Stages 1 and 2 of a plan: the parks that were asked for, and room for the coming step.
#include <algorithm>
#include <tuple>

#include "sched/draft.h"
#include "sched/mechanism.h"
#include "sched/victim.h"

namespace kvalet::sched {

void Draft::park(std::size_t resident, ParkMode mode, ParkReason reason, bool gives_up_slot) {
    const Resident& r = view.residents[resident];
    out.resident_marks[resident] = kLeaves;
    used -= r.cells;
    held += mode == ParkMode::swap ? r.snapshot : Bytes{0};
    --n_staying;
    out.actions.emplace_back(Park{r.task, mode, reason, gives_up_slot});
}

void park_asked_for(Draft& d) {
    if (!d.policy.preempt || !d.view.unified) {
        return;
    }
    for (std::size_t i = 0; i < d.view.residents.size(); ++i) {
        const Resident& r = d.view.residents[i];
        if (r.family || !(r.park_asked || r.park_forced)) {
            continue;
        }
        if (const auto mode = mechanism_for(r, d.policy, d.held)) {
            d.park(i, *mode, r.park_asked ? ParkReason::explicit_park : ParkReason::forced);
        }
    }
}

namespace {

bool step_fits(const Draft& d) {
    return d.used + step_reserve(d.view, d.policy, d.out.resident_marks) <= park_limit(d.view, d.policy);
}

/// P2.4. Takes back each victim without which the step fits as well, the first chosen first: a large one that
/// came later can make a small one needless. What is taken back was never applied; the victims so far are
/// only marks.
void keep_minimal(Draft& d, std::vector<std::size_t>& victims) {
    for (std::size_t& v : victims) {
        d.out.resident_marks[v] = kStays;
        d.used += d.view.residents[v].cells;
        if (step_fits(d)) {
            v = d.view.residents.size();
            continue;
        }
        d.out.resident_marks[v] = kLeaves;
        d.used -= d.view.residents[v].cells;
    }
    std::erase(victims, d.view.residents.size());
}

/// Marks victims until the step fits or only one sequence is left: alone it may fill the pool (P4.6).
void mark_victims(Draft& d, std::vector<std::size_t>& victims) {
    const auto survivor = choose_survivor(d.view, d.policy, d.out.resident_marks);
    Bytes held = d.held;
    Cells used = d.used;
    std::size_t n_staying = d.n_staying;
    while (!step_fits(d) && n_staying > 1) {
        const auto v = choose_victim_at_last(d.view, d.policy, d.out.resident_marks, held, survivor);
        if (!v) {
            break;
        }
        const Resident& r = d.view.residents[*v];
        held += mechanism_for(r, d.policy, held) == ParkMode::swap ? r.snapshot : Bytes{0};
        d.out.resident_marks[*v] = kLeaves;
        d.used -= r.cells;
        --n_staying;
        victims.push_back(*v);
    }
    keep_minimal(d, victims);
    d.used = used;
    for (const std::size_t v : victims) {
        d.out.resident_marks[v] = kStays;
    }
}

/// The budget is for those first who could not be parked without it; they fitted when they were chosen.
void park_all(Draft& d, const std::vector<std::size_t>& victims) {
    const auto& residents = d.view.residents;
    const bool watermark = d.policy.trigger == Trigger::watermark;
    Bytes pledged{0};
    for (const std::size_t v : victims) {
        pledged += residents[v].can_drop ? Bytes{0} : residents[v].snapshot;
    }
    for (const std::size_t v : victims) {
        pledged -= residents[v].can_drop ? Bytes{0} : residents[v].snapshot;
        const auto mode = mechanism_for(residents[v], d.policy, d.held + pledged);
        d.park(v, mode.value_or(ParkMode::drop), watermark ? ParkReason::watermark : ParkReason::kv_full);
        d.parked_for_room = true;
    }
}

}  // namespace

// Room for the coming step (P1.2, P1.3):
//  1. Nothing to do while it fits: one pass, no allocation (P1.8).
//  2. Idle slots are emptied, least recently used first.
//  3. Victims in the order of P2, as few as will do, none of them the last one that runs.
void make_room(Draft& d) {
    if (!d.view.unified || step_fits(d)) {  // 1.
        return;
    }
    d.evict_idle_until(step_reserve(d.view, d.policy, d.out.resident_marks),
                       park_limit(d.view, d.policy));  // 2.
    if (!d.policy.preempt || step_fits(d)) {
        return;
    }
    std::vector<std::size_t> victims;  // 3.
    mark_victims(d, victims);
    park_all(d, victims);
}

namespace {

/// Somebody who is neither held nor served by this plan.
bool somebody_waits(const Draft& d) {
    for (std::size_t i = 0; i < d.view.parked.size(); ++i) {
        if (d.waits_for_room(i)) {
            return true;
        }
    }
    const auto n_let_in = std::count_if(d.out.actions.begin(), d.out.actions.end(),
                                        [](const Action& a) { return std::holds_alternative<Admit>(a); });
    return static_cast<std::size_t>(n_let_in) < d.view.waiting.size();
}

}  // namespace

// A resident whose reader is behind computes nothing, yet holds cells and a slot. While somebody waits for
// these it is parked, and it is held until it is read again:
//  1. the least important first;
//  2. then the one that frees the most;
//  3. then the newest. One in a step is enough: the next step sees whether it was.
void park_one_not_read(Draft& d) {
    if (!d.policy.preempt || !d.view.unified) {
        return;
    }
    const auto rank = [&d](const Resident& r) {
        return std::tuple(d.effective(r), -r.cells.value(), ~r.task.value());
    };
    std::optional<std::size_t> first;
    for (std::size_t i = 0; i < d.view.residents.size(); ++i) {
        const Resident& r = d.view.residents[i];
        const bool may = r.blocked && !r.family && d.out.resident_marks[i] == kStays;
        if (may && mechanism_for(r, d.policy, d.held) &&
            (!first || rank(r) < rank(d.view.residents[*first]))) {
            first = i;
        }
    }
    if (first && somebody_waits(d)) {
        const auto mode = mechanism_for(d.view.residents[*first], d.policy, d.held);
        d.park(*first, *mode, ParkReason::slow_reader);
    }
}

std::optional<Park> one_more_victim(const View& view, const Policy& policy) {
    if (!policy.preempt || !view.unified || view.residents.size() < 2) {
        return std::nullopt;
    }
    const std::vector<char> marks(view.residents.size(), kStays);
    const auto survivor = choose_survivor(view, policy, marks);
    const auto v = choose_victim_at_last(view, policy, marks, view.parked_bytes, survivor);
    if (!v) {
        return std::nullopt;
    }
    const Resident& r = view.residents[*v];
    const auto mode = mechanism_for(r, policy, view.parked_bytes);
    return Park{r.task, mode.value_or(ParkMode::drop), ParkReason::kv_full, false};
}

}  // namespace kvalet::sched
