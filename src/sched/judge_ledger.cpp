// Whether each action of a plan can be carried out where it stands.
#include <algorithm>

#include "sched/judge.h"

namespace kvalet::sched {

namespace {

template <class List>
std::size_t index_of(const List& list, TaskId task) {
    const auto i = std::find_if(list.begin(), list.end(), [task](const auto& x) { return x.task == task; });
    return static_cast<std::size_t>(i - list.begin());
}

std::size_t index_of(const std::vector<IdleSlot>& list, SlotId slot) {
    const auto i = std::find_if(list.begin(), list.end(), [slot](const auto& x) { return x.slot == slot; });
    return static_cast<std::size_t>(i - list.begin());
}

class Ledger {
  public:
    explicit Ledger(Reading& reading) : r_(reading), view_(reading.view) {}

    void check(const EvictIdle& a) {
        const std::size_t i = index_of(view_.idle, a.slot);
        if (i == view_.idle.size() || view_.idle[i].cached == Cells{0} || r_.idle[i].emptied ||
            r_.idle[i].given) {
            return r_.fault("a slot is emptied that is not idle or holds nothing");
        }
        r_.idle[i].emptied = true;
        r_.used -= view_.idle[i].cached;
    }

    void check(const Park& a) {
        const std::size_t i = index_of(view_.residents, a.task);
        if (i == view_.residents.size() || !r_.stays(i) || r_.residents[i].fed > Tokens{0}) {
            return r_.expect(false, a.task, "parked, but not resident, parked already, fed or ended");
        }
        const Resident& s = view_.residents[i];
        r_.expect(r_.preempts(), a.task, "parked although preemption is off");
        r_.expect(!s.family, a.task, "a family is parked (P2.2)");
        r_.expect(a.mode == ParkMode::swap ? s.can_swap : s.can_drop, a.task,
                  "parked in a way in which it cannot be (P3.3)");
        r_.residents[i].park = &a;
        r_.used -= s.cells;
        if (a.mode == ParkMode::swap) {
            r_.held += s.snapshot;
            r_.expect(r_.policy.budget_bytes == kUnlimited || r_.held.value() <= r_.policy.budget_bytes,
                      a.task, "the budget is exceeded (P3.5)");
        }
    }

    void check(const YieldSlot& a) {
        const std::size_t i = index_of(view_.parked, a.task);
        if (i == view_.parked.size() || view_.parked[i].slot == kNoSlot || gone(r_.parked[i])) {
            return r_.expect(false, a.task, "gives up a slot that it does not hold");
        }
        r_.parked[i].yields = true;
    }

    void check(const Resume& a) {
        const std::size_t i = index_of(view_.parked, a.task);
        if (i == view_.parked.size() || gone(r_.parked[i])) {
            return r_.expect(false, a.task, "resumed, but not parked, back already or ended");
        }
        const Parked& p = view_.parked[i];
        r_.expect(!p.held, a.task, "resumed although a client holds it (P7.3)");
        if (p.slot != kNoSlot) {
            r_.expect(p.slot == a.slot, a.task, "resumed into another slot than its own");
        } else {
            take_slot(a.task, a.slot, Tokens{0});
        }
        r_.parked[i].back = true;
        r_.used += cells_of(p.stored);
        r_.expect(r_.used <= view_.pool, a.task, "resumed into a full pool (P4.1)");
    }

    void check(const Admit& a) {
        const std::size_t i = index_of(view_.waiting, a.task);
        if (i == view_.waiting.size() || r_.waiting[i].back) {
            return r_.expect(false, a.task, "let in, but not waiting, or twice");
        }
        const Waiting& w = view_.waiting[i];
        r_.expect(a.keep >= Tokens{0} && a.keep <= w.keep && a.keep < w.n_prompt, a.task,
                  "keeps more cache than it shares");
        r_.expect(w.slot == kNoSlot || w.slot == a.slot, a.task, "let into another slot than was chosen");
        take_slot(a.task, a.slot, a.keep);
        r_.waiting[i].back = true;
        r_.waiting[i].keep = a.keep;
    }

    void check(const Attach& a) {
        const std::size_t i = index_of(view_.waiting, a.parent);
        if (i == view_.waiting.size() || !r_.waiting[i].back) {
            return r_.expect(false, a.parent, "a family gets a slot before it is let in");
        }
        const std::size_t slot = index_of(view_.idle, a.slot);
        const bool holds =
            slot < view_.idle.size() && !r_.idle[slot].emptied && view_.idle[slot].cached > Cells{0};
        r_.expect(!holds, a.parent, "a family gets a slot that holds cache");
        take_slot(a.parent, a.slot, Tokens{0});
        ++r_.waiting[i].attached;
    }

    void check(const Finish& a) {
        const std::size_t i = index_of(view_.residents, a.task);
        const std::size_t k = index_of(view_.parked, a.task);
        if (i < view_.residents.size() && r_.stays(i) && r_.residents[i].fed == Tokens{0}) {
            r_.residents[i].ends = true;
        } else if (k < view_.parked.size() && !gone(r_.parked[k])) {
            r_.parked[k].ends = true;
        } else {
            r_.expect(false, a.task, "ended, but unknown, moved or ended already");
        }
    }

    void check(const FailAll&) {
        if (r_.policy.preempt || !view_.unified || r_.all_fail) {
            r_.fault("everybody fails although preemption is on");
        }
        r_.all_fail = true;
    }

    void check(const Feed& a) {
        Fate* fate = nullptr;
        Tokens most{0};
        const std::size_t i = index_of(view_.residents, a.task);
        const std::size_t k = index_of(view_.parked, a.task);
        const std::size_t m = index_of(view_.waiting, a.task);
        if (i < view_.residents.size() && r_.stays(i)) {
            const Resident& s = view_.residents[i];
            fate = &r_.residents[i];
            most = remaining(s) + s.draft;
            r_.expect(!s.blocked, a.task, "fed although its reader is behind");
            r_.expect(phase_of(s) != Phase::decoding || a.n == most, a.task,
                      "a verify block is split (P1.7)");
        } else if (k < view_.parked.size() && r_.parked[k].back) {
            fate = &r_.parked[k];
            most = view_.parked[k].length - view_.parked[k].stored + view_.parked[k].draft;
        } else if (m < view_.waiting.size() && r_.waiting[m].back) {
            fate = &r_.waiting[m];
            most = view_.waiting[m].n_prompt - fate->keep;
        }
        if (fate == nullptr || fate->fed > Tokens{0} || a.n <= Tokens{0} || a.n > most) {
            return r_.expect(false, a.task, "fed while not resident, twice, nothing, or more than it has");
        }
        fate->fed = a.n;
        r_.fed += a.n;
        r_.used += cells_of(a.n);
    }

    void check_sums() {
        if (r_.fed > view_.n_batch) {
            r_.fault("more tokens than one step takes");
        }
        if (view_.unified && r_.used > view_.pool) {
            r_.fault("more cells than the pool has");
        }
        if (r_.used < Cells{0}) {
            r_.fault("less than no cell is used");
        }
        for (std::size_t i = 0; i < view_.waiting.size(); ++i) {
            const Waiting& w = view_.waiting[i];
            r_.expect(!r_.waiting[i].back || r_.waiting[i].attached == w.n_slots - 1, w.task,
                      "a family gets another number of slots than it needs");
        }
        if (r_.all_fail && r_.fed > Tokens{0}) {
            r_.fault("fed although everybody fails");
        }
    }

  private:
    [[nodiscard]] static bool gone(const Fate& parked) { return parked.back || parked.ends || parked.yields; }

    /// A slot is free when it is idle, or when its holder gave it up earlier in this plan; once.
    void take_slot(TaskId task, SlotId slot, Tokens keep) {
        const std::size_t i = index_of(view_.idle, slot);
        if (i < view_.idle.size() && !r_.idle[i].given) {
            r_.expect(keep == Tokens{0} || !r_.idle[i].emptied, task, "keeps cache that was given up");
            r_.expect(cells_of(keep) <= view_.idle[i].cached, task, "keeps more cache than the slot has");
            r_.idle[i].given = true;
            if (!r_.idle[i].emptied) {
                r_.used -= view_.idle[i].cached - cells_of(keep);
            }
            return;
        }
        r_.expect(keep == Tokens{0}, task, "keeps cache of a slot that was not idle");
        if (Fate* holder = former_holder(slot)) {
            holder->slot_taken = true;
            return;
        }
        r_.expect(false, task, "gets a slot that is not free");
    }

    [[nodiscard]] Fate* former_holder(SlotId slot) {
        for (std::size_t i = 0; i < view_.residents.size(); ++i) {
            Fate& f = r_.residents[i];
            if (view_.residents[i].slot == slot && f.park != nullptr && f.park->gives_up_slot &&
                !f.slot_taken) {
                return &f;
            }
        }
        for (std::size_t i = 0; i < view_.parked.size(); ++i) {
            Fate& f = r_.parked[i];
            if (view_.parked[i].slot == slot && f.yields && !f.slot_taken) {
                return &f;
            }
        }
        return nullptr;
    }

    Reading& r_;
    const View& view_;
};

}  // namespace

void judge_ledger(Reading& r) {
    Ledger ledger(r);
    for (const Action& action : r.plan.actions) {
        std::visit([&ledger](const auto& a) { ledger.check(a); }, action);
        if (!r.why.empty()) {
            return;
        }
    }
    ledger.check_sums();
}

}  // namespace kvalet::sched
