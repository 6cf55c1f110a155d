// Whether the parks and the ends of a plan are those that P1 to P4 ask for.
#include <algorithm>

#include "sched/judge.h"

namespace kvalet::sched {

namespace {

/// Parked after room was made for the step, for the good of others.
bool leaves_later(const Park& park) {
    return park.reason == ParkReason::priority || park.reason == ParkReason::slow_reader;
}

/// The state after the parks that were asked for, and after those for room: P1.2 looks at the residents that
/// stay then. Parks by priority come later and make room for others.
class Room {
  public:
    explicit Room(const Reading& r) : r_(r), view_(r.view) {}

    [[nodiscard]] bool stays(std::size_t i) const {
        const Park* park = r_.residents[i].park;
        return park == nullptr || leaves_later(*park);
    }

    /// P1.1 and P1.2, written down once more: whether the step of those fits for whom `runs(i)` holds.
    template <class Runs>
    [[nodiscard]] bool fits(Runs runs) const {
        Cells used = view_.used;
        Tokens decode{0}, replay{0}, prompt{0};
        for (std::size_t i = 0; i < view_.residents.size(); ++i) {
            const Resident& s = view_.residents[i];
            if (!runs(i)) {
                used -= s.cells;
            } else if (phase_of(s) == Phase::replaying) {
                replay += remaining(s);
            } else if (!s.blocked) {
                (phase_of(s) == Phase::decoding ? decode : prompt) += remaining(s) + s.draft;
            }
        }
        for (std::size_t i = 0; i < view_.idle.size(); ++i) {
            used -= r_.idle[i].emptied ? view_.idle[i].cached : Cells{0};
        }
        prompt = std::min(
            {prompt, r_.policy.prefill_chunk, view_.n_ubatch, std::max(Tokens{0}, view_.n_batch - decode)});
        const std::int64_t percent = r_.policy.trigger == Trigger::watermark ? r_.policy.high_pct : 100;
        return used + cells_of(decode + replay + prompt) <= Cells{view_.pool.value() * percent / 100};
    }

    [[nodiscard]] bool fits() const {
        return fits([this](std::size_t i) { return stays(i); });
    }

    /// Host memory in use when the last one was parked for room.
    [[nodiscard]] Bytes held() const {
        Bytes held = view_.parked_bytes;
        for (std::size_t i = 0; i < view_.residents.size(); ++i) {
            const Park* park = r_.residents[i].park;
            held += !stays(i) && park->mode == ParkMode::swap ? view_.residents[i].snapshot : Bytes{0};
        }
        return held;
    }

  private:
    const Reading& r_;
    const View& view_;
};

bool somebody_waits(const Reading& r) {
    for (std::size_t i = 0; i < r.view.parked.size(); ++i) {
        if (r.stays_parked(i)) {
            return true;
        }
    }
    for (std::size_t i = 0; i < r.view.waiting.size(); ++i) {
        if (!r.waiting[i].back) {
            return true;
        }
    }
    return false;
}

/// Whoever computes nothing because its reader is behind makes way for those who wait, one in each step.
void judge_slow_readers(Reading& r) {
    std::size_t n_left = 0;
    TaskId in_the_way;
    bool any = false;
    for (std::size_t i = 0; i < r.view.residents.size(); ++i) {
        const Resident& s = r.view.residents[i];
        const Park* park = r.residents[i].park;
        n_left += park != nullptr && park->reason == ParkReason::slow_reader ? 1U : 0U;
        if (r.stays(i) && s.blocked && s.can_drop && !s.family) {
            in_the_way = s.task;
            any = true;
        }
    }
    if (n_left > 1) {
        r.fault("more than one slow reader's was parked at once");
    }
    r.expect(!any || n_left == 1 || !r.preempts() || !somebody_waits(r), in_the_way,
             "its reader is behind, and it stands in the way of those who wait");
}

/// P1.4, P1.5, and each reason where it belongs.
void judge_reasons(Reading& r) {
    const bool watermark = r.policy.trigger == Trigger::watermark;
    for (std::size_t i = 0; i < r.view.residents.size(); ++i) {
        const Resident& s = r.view.residents[i];
        const Park* park = r.residents[i].park;
        if (park == nullptr) {
            const bool asked = (s.park_asked || s.park_forced) && !s.family && s.can_drop;
            r.expect(!asked || !r.preempts(), s.task, "not parked although it was asked for (P1.4, P1.5)");
            continue;
        }
        const bool fits = [&] {
            // One that was asked for leaves first; only where it cannot be dropped it may have stayed for
            // want of budget.
            const bool left_first = (s.park_asked || s.park_forced) && s.can_drop;
            switch (park->reason) {
                case ParkReason::kv_full:
                    return !left_first && !watermark && r.view.residents.size() > 1;
                case ParkReason::watermark:
                    return !left_first && watermark && r.view.residents.size() > 1;
                case ParkReason::priority:
                    return !left_first && park->gives_up_slot && r.residents[i].slot_taken;
                case ParkReason::explicit_park:
                    return s.park_asked;
                case ParkReason::forced:
                    return s.park_forced && !s.park_asked;
                case ParkReason::slow_reader:
                    return !left_first && s.blocked && !s.family && somebody_waits(r);
            }
            return false;
        }();
        r.expect(fits, s.task, "parked for a reason that does not hold");
        r.expect(park->gives_up_slot == (park->reason == ParkReason::priority), s.task,
                 "gives up its slot for nobody (P1.6)");
    }
}

// Room is made (P1.2, P1.3, P2.4):
//  1. When the step does not fit, no idle slot holds cells and nobody is left who could be parked.
//  2. When somebody was parked for room, no idle slot holds cells either.
//  3. Without any one of the parked the step would not fit.
void judge_room(Reading& r) {
    const Room room(r);
    bool caches = false;
    for (std::size_t i = 0; i < r.view.idle.size(); ++i) {
        caches |= r.view.idle[i].cached > Cells{0} && !r.idle[i].emptied;
    }
    if (!room.fits()) {  // 1.
        if (caches) {
            r.fault("the step does not fit while an idle slot holds cells (P1.3)");
        }
        std::size_t n_staying = 0;
        TaskId candidate;
        bool any = false;
        for (std::size_t i = 0; i < r.view.residents.size(); ++i) {
            const Resident& s = r.view.residents[i];
            n_staying += room.stays(i) ? 1U : 0U;
            if (room.stays(i) && !s.family && mechanism_for(s, r.policy, room.held())) {
                candidate = s.task;
                any = true;
            }
        }
        r.expect(!any || n_staying < 2 || !r.preempts(), candidate,
                 "not parked while the step does not fit (P1.2)");
    }
    for (std::size_t i = 0; i < r.view.residents.size(); ++i) {
        const Park* park = r.residents[i].park;
        if (park == nullptr || !is_for_room(*park)) {
            continue;
        }
        r.expect(!caches, park->task, "parked while an idle slot holds cells (P1.3)");  // 2.
        r.expect(!room.fits([&](std::size_t k) { return k == i || room.stays(k); }), park->task,
                 "parked without need (P2.4)");  // 3.
    }
}

/// The one that P2.1 and P2.3 protect: the leader, or the survivor unless a resident of higher priority is
/// there.
const Resident* protected_one(const Reading& r) {
    const Resident* best = nullptr;
    for (const Resident& s : r.view.residents) {
        const Park* park = r.residents[static_cast<std::size_t>(&s - r.view.residents.data())].park;
        if (park != nullptr && !is_for_room(*park) && !leaves_later(*park)) {
            continue;  // it left before
        }
        if (s.blocked) {
            continue;  // its reader holds it up: it leads nothing and outlives nobody
        }
        if (r.policy.victim == VictimOrder::priority) {
            best = s.task == r.view.survivor ? &s : best;
        } else if (best == nullptr || s.length > best->length ||
                   (s.length == best->length && s.task < best->task)) {
            best = &s;
        }
    }
    if (best != nullptr && r.policy.victim == VictimOrder::priority) {
        for (const Resident& s : r.view.residents) {
            const Park* park = r.residents[static_cast<std::size_t>(&s - r.view.residents.data())].park;
            const bool left = park != nullptr && (park->reason == ParkReason::explicit_park ||
                                                  park->reason == ParkReason::forced);
            if (!left && !s.blocked && s.priority > best->priority) {
                return nullptr;
            }
        }
    }
    return best;
}

/// P2.1, P2.3. It is parked only where the step of itself and those who can be parked in no way does not fit.
void judge_protection(Reading& r) {
    const Resident* one = protected_one(r);
    if (one == nullptr) {
        return;
    }
    const auto index = static_cast<std::size_t>(one - r.view.residents.data());
    const Park* park = r.residents[index].park;
    if (park == nullptr || !is_for_room(*park)) {
        return;
    }
    const Room room(r);
    const bool fits = room.fits([&](std::size_t i) {
        const Resident& s = r.view.residents[i];
        return i == index || (room.stays(i) && (s.family || !s.can_drop));
    });
    r.expect(!fits, one->task, "the leader or the survivor is parked (P2.1, P2.3)");
}

// Who ends by the plan's word (P4.5, P4.6):
//  1. A parked one that does not fit the whole pool.
//  2. A resident, when nobody at all can compute anything and nothing else is done.
void judge_ends(Reading& r) {
    for (std::size_t i = 0; i < r.view.parked.size(); ++i) {
        const Parked& p = r.view.parked[i];
        r.expect(!r.parked[i].ends || cells_to_come_back(p) > r.view.pool, p.task,
                 "ended although it fits the pool (P4.5)");  // 1.
    }
    for (std::size_t i = 0; i < r.view.residents.size(); ++i) {
        if (!r.residents[i].ends) {
            continue;
        }
        const Resident& ended = r.view.residents[i];
        const TaskId task = ended.task;
        r.expect(r.plan.actions.size() == 1 && r.view.unified, task, "ended beside other actions");  // 2.
        r.expect(!ended.blocked && remaining(ended) > Tokens{0}, task, "ended although it asks for nothing");
        for (const Resident& s : r.view.residents) {
            const Cells room = r.view.pool - r.view.used;
            const Cells least = phase_of(s) == Phase::decoding ? cells_of(remaining(s) + s.draft) : Cells{1};
            r.expect(s.blocked || remaining(s) == Tokens{0} || least > room, task,
                     "ended although somebody could go on (P4.6)");
        }
    }
}

/// P2.3. Whoever parks for room keeps a survivor, and it is one of those that stay.
void judge_survivor(Reading& r) {
    const auto& survivor = r.plan.survivor;
    if (!survivor) {
        const bool parks = std::any_of(r.plan.actions.begin(), r.plan.actions.end(), [](const Action& a) {
            const Park* park = std::get_if<Park>(&a);
            return park != nullptr && is_for_room(*park);
        });
        bool anybody = false;
        for (std::size_t i = 0; i < r.view.residents.size(); ++i) {
            anybody |= r.stays(i);
        }
        if (parks && anybody && r.policy.victim == VictimOrder::priority) {
            r.fault("nobody survives (P2.3)");
        }
        return;
    }
    const Resident* one = find_resident(r.view, *survivor);
    r.expect(r.policy.victim == VictimOrder::priority && one != nullptr &&
                 r.residents[static_cast<std::size_t>(one - r.view.residents.data())].park == nullptr,
             *survivor, "survives without being there (P2.3)");
}

}  // namespace

void judge_parks(Reading& r) {
    judge_reasons(r);
    if (r.view.unified) {
        judge_room(r);
        judge_protection(r);
        judge_slow_readers(r);
    }
    judge_ends(r);
    judge_survivor(r);
}

}  // namespace kvalet::sched
