// The judge of plans. It replays the actions on a ledger of its own and shares no code with the planner but
// the words of view.h and the mechanism's rule, so that a mistake there is found here.
#include <algorithm>
#include <string>

#include "sched/plan.h"
#include "sched/trigger.h"

namespace kvalet::sched {

namespace {

class Judge {
  public:
    Judge(const View& view, const Policy& policy, const Plan& plan)
        : view_(view), policy_(policy), plan_(plan), used_(view.used), held_(view.parked_bytes) {}

    bool judge(std::string* why) {
        for (const Action& action : plan_.actions) {
            std::visit([this](const auto& a) { check(a); }, action);
        }
        check_end();
        if (why != nullptr) {
            *why = fault_;
        }
        return fault_.empty();
    }

  private:
    void fault(TaskId task, const char* what) {
        if (fault_.empty()) {
            fault_ = "task " + std::to_string(task.value()) + ": " + what;
        }
    }
    void fault(const char* what) {
        if (fault_.empty()) {
            fault_ = what;
        }
    }
    void expect(bool holds, TaskId task, const char* what) {
        if (!holds) {
            fault(task, what);
        }
    }

    /// How often an action of kind A before `end` names the task.
    template <class A>
    [[nodiscard]] std::size_t count(TaskId task) const {
        return static_cast<std::size_t>(
            std::count_if(plan_.actions.begin(), plan_.actions.end(), [&](const Action& x) {
                const A* a = std::get_if<A>(&x);
                return a != nullptr && a->task == task;
            }));
    }
    [[nodiscard]] const Parked* parked(TaskId task) const {
        const auto i = std::find_if(view_.parked.begin(), view_.parked.end(),
                                    [&](const Parked& p) { return p.task == task; });
        return i == view_.parked.end() ? nullptr : &*i;
    }
    [[nodiscard]] const Waiting* waiting(TaskId task) const {
        const auto i = std::find_if(view_.waiting.begin(), view_.waiting.end(),
                                    [&](const Waiting& w) { return w.task == task; });
        return i == view_.waiting.end() ? nullptr : &*i;
    }
    [[nodiscard]] const IdleSlot* idle(SlotId slot) const {
        const auto i = std::find_if(view_.idle.begin(), view_.idle.end(),
                                    [&](const IdleSlot& s) { return s.slot == slot; });
        return i == view_.idle.end() ? nullptr : &*i;
    }
    [[nodiscard]] bool evicted(SlotId slot) const {
        return std::any_of(plan_.actions.begin(), plan_.actions.end(), [&](const Action& x) {
            const auto* a = std::get_if<EvictIdle>(&x);
            return a != nullptr && a->slot == slot;
        });
    }
    [[nodiscard]] std::size_t times_given(SlotId slot) const {
        return static_cast<std::size_t>(
            std::count_if(plan_.actions.begin(), plan_.actions.end(), [&](const Action& x) {
                const auto* admit = std::get_if<Admit>(&x);
                const auto* resume = std::get_if<Resume>(&x);
                return (admit != nullptr && admit->slot == slot) ||
                       (resume != nullptr && resume->slot == slot);
            }));
    }
    /// Whether a sequence that holds the slot now gives it up in this plan.
    [[nodiscard]] bool given_up(SlotId slot) const {
        return std::any_of(plan_.actions.begin(), plan_.actions.end(), [&](const Action& x) {
            if (const auto* park = std::get_if<Park>(&x)) {
                const Resident* r = find_resident(view_, park->task);
                return park->gives_up_slot && r != nullptr && r->slot == slot;
            }
            const auto* yield = std::get_if<YieldSlot>(&x);
            const Parked* p = yield != nullptr ? parked(yield->task) : nullptr;
            return p != nullptr && p->slot == slot;
        });
    }

    void check(const EvictIdle& a) {
        const IdleSlot* slot = idle(a.slot);
        if (slot == nullptr || slot->cached == Cells{0}) {
            return fault("a slot that is not idle or holds nothing is emptied");
        }
        used_ -= slot->cached;
    }

    void check(const Park& a) {
        const Resident* r = find_resident(view_, a.task);
        if (r == nullptr || count<Park>(a.task) != 1) {
            return fault(a.task, "parked but not resident, or parked twice");
        }
        expect(policy_.preempt && view_.unified, a.task, "parked although preemption is off");
        expect(!r->family, a.task, "a family is parked (P2.2)");
        expect(a.mode == ParkMode::swap ? r->can_swap : r->can_drop, a.task,
               "parked in a way it cannot be (P3.3)");
        const bool for_room = a.reason == ParkReason::kv_full || a.reason == ParkReason::watermark;
        expect(!for_room || view_.residents.size() > 1, a.task, "the only resident is parked for room");
        expect(!for_room || view_.survivor != a.task || outranked(*r), a.task,
               "the survivor is parked (P2.3)");
        used_ -= r->cells;
        if (a.mode == ParkMode::swap) {
            held_ += r->snapshot;
            expect(policy_.budget_bytes == kUnlimited || held_.value() <= policy_.budget_bytes, a.task,
                   "the budget is exceeded (P3.5)");
        }
    }

    void check(const YieldSlot& a) {
        const Parked* p = parked(a.task);
        expect(p != nullptr && p->slot != kNoSlot, a.task, "gives up a slot that it does not hold");
    }

    void check(const Resume& a) {
        const Parked* p = parked(a.task);
        if (p == nullptr || count<Resume>(a.task) != 1) {
            return fault(a.task, "resumed but not parked, or twice");
        }
        expect(!p->held, a.task, "resumed although a client holds it (P7.3)");
        expect(p->slot == a.slot || (p->slot == kNoSlot && idle(a.slot) != nullptr), a.task,
               "resumed into a wrong slot");
        expect(times_given(a.slot) == 1, a.task, "two sequences get one slot");
        used_ += cells_of(p->stored);
        expect(used_ <= view_.pool, a.task, "resumed into a full pool (P4.1)");
    }

    void check(const Admit& a) {
        const Waiting* w = waiting(a.task);
        if (w == nullptr || count<Admit>(a.task) != 1) {
            return fault(a.task, "let in but not waiting, or twice");
        }
        const IdleSlot* slot = idle(a.slot);
        expect(slot != nullptr || given_up(a.slot), a.task, "gets a slot that is not free");
        expect(times_given(a.slot) == 1, a.task, "two sequences get one slot");
        expect(a.keep <= w->keep && a.keep < w->n_prompt, a.task, "keeps more cache than it shares");
        if (slot != nullptr && !evicted(a.slot)) {
            used_ -= slot->cached - cells_of(a.keep);
        } else {
            expect(a.keep == Tokens{0}, a.task, "keeps cache that was given up");
        }
    }

    void check(const Finish& a) {
        expect(parked(a.task) != nullptr || find_resident(view_, a.task) != nullptr, a.task,
               "ended but unknown");
    }

    void check(const FailAll&) {
        if (policy_.preempt) {
            fault("everybody fails although preemption is on");
        }
    }

    void check(const Feed& a) {
        expect(count<Feed>(a.task) == 1 && count<Park>(a.task) == 0, a.task, "fed twice, or parked and fed");
        Tokens most{0};
        if (const Resident* r = find_resident(view_, a.task)) {
            expect(!r->blocked, a.task, "fed although its reader is behind");
            most = remaining(*r) + r->draft;
            const bool decodes = phase_of(*r) == Phase::decoding;
            expect(!decodes || a.n == most, a.task, "a verify block is split (P1.7)");
        } else if (const Parked* p = parked(a.task)) {
            expect(count<Resume>(a.task) == 1, a.task, "fed while parked");
            most = p->length - p->stored + p->draft;
        } else if (const Waiting* w = waiting(a.task)) {
            expect(count<Admit>(a.task) == 1, a.task, "fed while waiting");
            most = w->n_prompt;
        }
        expect(a.n > Tokens{0} && a.n <= most, a.task, "fed nothing, or more than it has");
        fed_ += a.n;
        used_ += cells_of(a.n);
    }

    /// A survivor yields only to a resident of higher priority.
    [[nodiscard]] bool outranked(const Resident& r) const {
        return std::any_of(view_.residents.begin(), view_.residents.end(),
                           [&](const Resident& o) { return o.priority > r.priority; });
    }

    void check_end() {
        if (fed_ > view_.n_batch) {
            fault("more tokens than one step takes");
        }
        if (view_.unified && used_ > view_.pool && policy_.preempt) {
            fault("more cells than the pool has");
        }
        if (used_ < Cells{0}) {
            fault("less than no cell is used");
        }
        check_minimal();
        check_nobody_waits_for_an_empty_pool();
    }

    /// P2.4 and P1.3: each park for room is needed, and no idle slot's cells would have done instead.
    void check_minimal() {
        if (std::none_of(plan_.actions.begin(), plan_.actions.end(),
                         [](const Action& x) { return std::holds_alternative<Park>(x); })) {
            return;
        }
        std::vector<char> marks(view_.residents.size(), kStays);
        Cells used = view_.used;
        bool for_room = false;
        for (std::size_t i = 0; i < view_.residents.size(); ++i) {
            const Park* park = park_of(view_.residents[i].task);
            if (park != nullptr && park->reason != ParkReason::priority) {
                marks[i] = kLeaves;
                used -= view_.residents[i].cells;
                for_room |= park->reason == ParkReason::kv_full || park->reason == ParkReason::watermark;
            }
        }
        if (!for_room) {
            return;
        }
        for (const IdleSlot& slot : view_.idle) {
            used -= slot.cached;  // all of them must have been emptied first
            if (slot.cached > Cells{0} && !evicted(slot.slot)) {
                fault("somebody is parked while an idle slot holds cells (P1.3)");
            }
        }
        for (std::size_t i = 0; i < view_.residents.size(); ++i) {
            const Park* park = park_of(view_.residents[i].task);
            if (park == nullptr ||
                (park->reason != ParkReason::kv_full && park->reason != ParkReason::watermark)) {
                continue;
            }
            marks[i] = kStays;
            const Cells with = used + view_.residents[i].cells;
            expect(with + step_reserve(view_, policy_, marks) > park_limit(view_, policy_), park->task,
                   "parked without need (P2.4)");
            marks[i] = kLeaves;
        }
    }

    [[nodiscard]] const Park* park_of(TaskId task) const {
        for (const Action& x : plan_.actions) {
            if (const auto* a = std::get_if<Park>(&x); a != nullptr && a->task == task) {
                return a;
            }
        }
        return nullptr;
    }

    /// P4.4.
    void check_nobody_waits_for_an_empty_pool() {
        if (!view_.residents.empty() || !plan_.actions.empty()) {
            return;
        }
        for (const Parked& p : view_.parked) {
            expect(p.held, p.task, "parked while the pool is empty (P4.4)");
        }
    }

    const View& view_;
    const Policy& policy_;
    const Plan& plan_;
    Cells used_;
    Bytes held_;
    Tokens fed_;
    std::string fault_;
};

}  // namespace

bool valid(const View& view, const Policy& policy, const Plan& plan, std::string* why) {
    return Judge(view, policy, plan).judge(why);
}

}  // namespace kvalet::sched
