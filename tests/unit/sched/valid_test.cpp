// The judge: good plans of random views are broken in one place, and it must see every such break. One that
// accepts everything would pass all other tests.
#include <functional>
#include <gtest/gtest.h>
#include <map>

#include "unit/sched/random_view.h"
#include "unit/sched/scene.h"

namespace kvalet::test {
namespace {

using sched::Action;
using sched::Admit;
using sched::EvictIdle;
using sched::Feed;
using sched::Finish;
using sched::Park;
using sched::ParkMode;
using sched::ParkReason;
using sched::Plan;
using sched::Resume;
using sched::YieldSlot;

constexpr TaskId kNobody{777};

bool judged_good(const Situation& s, const Plan& plan) {
    return valid(s.view, s.policy, plan, nullptr);
}

/// Counts how often a kind of break could be tried and how often it was seen.
struct Tally {
    std::map<std::string, std::pair<std::size_t, std::size_t>> of;
    std::string first_missed;

    void judge(const std::string& kind, const Situation& s, const Plan& broken) {
        auto& [tried, seen] = of[kind];
        ++tried;
        if (!judged_good(s, broken)) {
            ++seen;
        } else if (first_missed.empty()) {
            first_missed = kind + "\n" + text_of(s) + "  accepted: " + text_of(broken);
        }
    }
};

const char* name_of_kind(const Action& a) {
    constexpr const char* names[] = {"evict",  "park",   "yield", "resume", "admit",
                                     "attach", "finish", "fail",  "feed"};
    return names[a.index()];
}

Plan without(const Plan& plan, std::size_t i) {
    Plan broken = plan;
    broken.actions.erase(broken.actions.begin() + static_cast<std::ptrdiff_t>(i));
    return broken;
}

Plan with(const Plan& plan, std::size_t i, Action other) {
    Plan broken = plan;
    broken.actions[i] = other;
    return broken;
}

Plan plus(const Plan& plan, Action more) {
    Plan broken = plan;
    broken.actions.push_back(more);
    return broken;
}

/// Changes one field of one action, in each way that makes sense.
struct Alter {
    Tally& tally;
    const Situation& s;
    const Plan& plan;
    std::size_t i;

    void operator()(const EvictIdle&) {
        tally.judge("evict: no such slot", s, with(plan, i, EvictIdle{SlotId{99}}));
    }
    void operator()(const Park& a) {
        Park b = a;
        b.task = kNobody;
        tally.judge("park: nobody", s, with(plan, i, b));
        b = a;
        b.gives_up_slot = !a.gives_up_slot;
        tally.judge("park: slot or not", s, with(plan, i, b));
        const sched::Resident& r = *find_resident(s.view, a.task);
        for (const ParkReason reason :
             {ParkReason::kv_full, ParkReason::watermark, ParkReason::priority, ParkReason::explicit_park,
              ParkReason::forced, ParkReason::slow_reader}) {
            b = a;
            b.reason = reason;
            if (reason != a.reason && r.can_drop) {  // else it may have stayed for want of budget
                tally.judge("park: reason", s, with(plan, i, b));
            }
        }
        b = a;
        b.mode = a.mode == ParkMode::swap ? ParkMode::drop : ParkMode::swap;
        const bool impossible =
            b.mode == ParkMode::swap
                ? !r.can_swap || (s.policy.budget_bytes != sched::kUnlimited &&
                                  s.view.parked_bytes + r.snapshot > Bytes{s.policy.budget_bytes})
                : !r.can_drop;
        if (impossible) {
            tally.judge("park: a way in which it cannot be", s, with(plan, i, b));
        }
    }
    void operator()(const YieldSlot&) { tally.judge("yield: nobody", s, with(plan, i, YieldSlot{kNobody})); }
    void operator()(const Resume& a) {
        tally.judge("resume: nobody", s, with(plan, i, Resume{kNobody, a.slot}));
        tally.judge("resume: another slot", s, with(plan, i, Resume{a.task, SlotId{99}}));
    }
    void operator()(const Admit& a) {
        tally.judge("admit: nobody", s, with(plan, i, Admit{kNobody, a.slot, a.keep}));
        tally.judge("admit: another slot", s,
                    with(plan, i, Admit{a.task, SlotId{a.slot.value() + 1}, a.keep}));
        tally.judge("admit: more cache", s, with(plan, i, Admit{a.task, a.slot, Tokens{9999}}));
    }
    void operator()(const sched::Attach& a) {
        tally.judge("attach: a slot that is not idle", s, with(plan, i, sched::Attach{a.parent, SlotId{99}}));
    }
    void operator()(const Finish&) { tally.judge("finish: nobody", s, with(plan, i, Finish{kNobody})); }
    void operator()(const sched::FailAll&) {}
    void operator()(const Feed& a) {
        tally.judge("feed: nobody", s, with(plan, i, Feed{kNobody, a.n}));
        tally.judge("feed: none", s, with(plan, i, Feed{a.task, Tokens{0}}));
        tally.judge("feed: fewer", s, with(plan, i, Feed{a.task, a.n - Tokens{1}}));
        tally.judge("feed: more than there are", s, with(plan, i, Feed{a.task, a.n + Tokens{2000}}));
    }
};

void add_what_does_not_belong(Tally& tally, const Situation& s, const Plan& plan) {
    if (s.policy.preempt) {
        tally.judge("add: fail all", s, plus(plan, sched::FailAll{}));
    }
    for (const sched::Resident& r : s.view.residents) {
        for (const ParkReason reason :
             {ParkReason::kv_full, ParkReason::watermark, ParkReason::priority, ParkReason::explicit_park,
              ParkReason::forced, ParkReason::slow_reader}) {
            tally.judge("add: park", s, plus(plan, Park{r.task, ParkMode::drop, reason, false}));
        }
        tally.judge("add: finish", s, plus(plan, Finish{r.task}));
        tally.judge("add: feed", s, plus(plan, Feed{r.task, Tokens{1}}));
    }
    for (const sched::Parked& p : s.view.parked) {
        tally.judge("add: yield", s, plus(plan, YieldSlot{p.task}));
        tally.judge("add: feed to a parked one", s, plus(plan, Feed{p.task, Tokens{1}}));
    }
    for (const sched::Waiting& w : s.view.waiting) {
        tally.judge("add: a slot that is taken", s, plus(plan, Admit{w.task, SlotId{99}, Tokens{0}}));
        tally.judge("add: feed to a waiting one", s, plus(plan, Feed{w.task, Tokens{2000}}));
    }
    for (const sched::IdleSlot& slot : s.view.idle) {
        tally.judge("add: evict what holds nothing", s, [&] {
            Plan broken = plus(plan, EvictIdle{slot.slot});
            broken.actions.push_back(EvictIdle{slot.slot});
            return broken;
        }());
    }
}

/// A dropped action is one that the judge must miss, unless nothing depends on it: a cache that was emptied
/// for less than its whole, or one that came back or was let in and computes nothing in this step.
bool may_be_missing(const Action& a, const Situation& s, const Plan& plan) {
    if (std::holds_alternative<EvictIdle>(a)) {
        return true;
    }
    if (const auto* park = std::get_if<Park>(&a)) {
        // Called for, but it may not have fitted the budget.
        const bool called_for = park->reason == ParkReason::explicit_park ||
                                park->reason == ParkReason::forced || park->reason == ParkReason::slow_reader;
        return called_for && !find_resident(s.view, park->task)->can_drop;
    }
    const auto fed = [&plan](TaskId task) {
        for (const Action& x : plan.actions) {
            if (const auto* feed = std::get_if<Feed>(&x); feed != nullptr && feed->task == task) {
                return true;
            }
        }
        return false;
    };
    if (const auto* resume = std::get_if<Resume>(&a)) {
        return !fed(resume->task);
    }
    if (const auto* admit = std::get_if<Admit>(&a)) {
        return !fed(admit->task);
    }
    // Nobody must end by the plan's word in this step rather than in the next.
    return std::holds_alternative<Finish>(a);
}

TEST(Valid, SeesEveryBreak) {
    Tally tally;
    constexpr std::uint64_t kSeed = 11;
    constexpr int kViews = 40'000;
    for (std::uint64_t view = 0; view < kViews; ++view) {
        Choices choices(kSeed * 1'000'003 + view);
        const Situation s = random_situation(choices);
        const Plan plan = sched::plan(s.view, s.policy);
        for (std::size_t i = 0; i < plan.actions.size(); ++i) {
            const Action& a = plan.actions[i];
            tally.judge(std::string("twice: ") + name_of_kind(a), s, plus(plan, a));
            if (!may_be_missing(a, s, plan)) {
                tally.judge(std::string("missing: ") + name_of_kind(a), s, without(plan, i));
            }
            std::visit(Alter{tally, s, plan, i}, a);
        }
        add_what_does_not_belong(tally, s, plan);
    }
    for (const auto& [kind, count] : tally.of) {
        EXPECT_GE(count.first, 20U) << kind << " was hardly tried";
        EXPECT_EQ(count.second, count.first) << kind;
    }
    EXPECT_GE(tally.of.size(), 30U);
    EXPECT_EQ(tally.first_missed, "");
}

// ---- one plan for each sentence that the judge can say

std::string verdict(const Scene& s, std::vector<Action> actions, std::optional<TaskId> survivor = {}) {
    Plan plan;
    plan.actions = std::move(actions);
    plan.survivor = survivor;
    std::string why;
    return valid(s.view, s.policy, plan, &why) ? "good" : why;
}

Park room(std::uint64_t task, ParkMode mode = ParkMode::swap) {
    return Park{TaskId{task}, mode, ParkReason::kv_full, false};
}
Feed fed(std::uint64_t task, std::int64_t n = 1) {
    return Feed{TaskId{task}, Tokens{n}};
}

TEST(Valid, ParksTooMany) {
    const Scene s = Scene("swap", 349).decoding(1, 200).decoding(2, 100).decoding(3, 50);
    EXPECT_EQ(verdict(s, {room(3), fed(1), fed(2)}), "good");
    EXPECT_EQ(verdict(s, {room(2), fed(1), fed(3)}), "good") << "which one is the planner's choice";
    EXPECT_EQ(verdict(s, {room(2), room(3), fed(1)}), "task 2: parked without need (P2.4)");
}

TEST(Valid, ParksTheLeader) {
    const Scene s = Scene("swap", 349).decoding(1, 200).decoding(2, 100).decoding(3, 50);
    EXPECT_EQ(verdict(s, {room(1), fed(2), fed(3)}),
              "task 1: the leader or the survivor is parked (P2.1, P2.3)");
}

TEST(Valid, ParksTheSurvivor) {
    Scene s = Scene("priority", 349).decoding(1, 200).decoding(2, 100).decoding(3, 50);
    s.view.survivor = TaskId{2};
    EXPECT_EQ(verdict(s, {room(3), fed(1), fed(2)}, TaskId{2}), "good");
    EXPECT_EQ(verdict(s, {room(2), fed(1), fed(3)}, TaskId{1}),
              "task 2: the leader or the survivor is parked (P2.1, P2.3)");
    EXPECT_EQ(verdict(s, {room(3), fed(1), fed(2)}), "nobody survives (P2.3)");
    EXPECT_EQ(verdict(s, {room(3), fed(1), fed(2)}, TaskId{3}),
              "task 3: survives without being there (P2.3)");
}

TEST(Valid, ParksNobodyThoughTheStepDoesNotFit) {
    const Scene s = Scene("swap", 299).decoding(1, 200).decoding(2, 100);
    EXPECT_EQ(verdict(s, {fed(1)}), "task 2: not parked while the step does not fit (P1.2)");
    EXPECT_EQ(verdict(s, {fed(1), fed(2)}), "more cells than the pool has");
}

TEST(Valid, ParksWhileAnIdleSlotHoldsCells) {
    const Scene s = Scene("swap", 319).decoding(1, 200).decoding(2, 100).idle(20, 1);
    EXPECT_EQ(verdict(s, {EvictIdle{SlotId{2}}, fed(1), fed(2)}), "good");
    EXPECT_EQ(verdict(s, {room(2), fed(1)}), "task 2: parked while an idle slot holds cells (P1.3)");
}

TEST(Valid, ParksAFamily) {
    const auto family = [](sched::Resident& r) { r.family = true; };
    const Scene s = Scene("swap", 299).decoding(1, 200).decoding(2, 100, family);
    EXPECT_EQ(verdict(s, {room(2), fed(1)}), "task 2: a family is parked (P2.2)");
}

TEST(Valid, ExceedsTheBudget) {
    Scene s = Scene("hybrid", 299).decoding(1, 200).decoding(2, 100);
    s.policy.budget_bytes = 99 * Scene::kBytesPerToken;
    EXPECT_EQ(verdict(s, {room(2), fed(1)}), "good");
    s.policy.budget_bytes -= 1;
    EXPECT_EQ(verdict(s, {room(2), fed(1)}), "task 2: the budget is exceeded (P3.5)");
    EXPECT_EQ(verdict(s, {room(2, ParkMode::drop), fed(1)}), "good");
}

TEST(Valid, BringsBackWhereTheReplayDoesNotPay) {
    Scene s = Scene("default", 399).decoding(1, 200).parked(2, 100, ParkMode::drop);
    const std::vector<Action> plan = {Action{Resume{TaskId{2}, SlotId{1}}}, Action{fed(1)},
                                      Action{fed(2, 64)}};
    EXPECT_EQ(verdict(s, plan), "good");
    s.view.pool -= Cells{1};
    EXPECT_EQ(verdict(s, plan), "task 2: comes back without room (P4.1, P1.2)");
}

TEST(Valid, LetsInWithoutRoomToGrow) {
    Scene s = Scene("default", 301 + 2 * 16).decoding(1, 200).idle().waiting(2, 100);
    const std::vector<Action> plan = {Action{Admit{TaskId{2}, SlotId{1}, Tokens{0}}}, Action{fed(1)},
                                      Action{fed(2, 64)}};
    EXPECT_EQ(verdict(s, plan), "good");
    s.view.pool -= Cells{1};
    EXPECT_EQ(verdict(s, plan), "task 2: let in without room");
}

TEST(Valid, BringsBackAboveLow) {
    const Scene s = Scene("watermark", 1000).decoding(1, 601).parked(2, 192);
    EXPECT_EQ(verdict(s, {Resume{TaskId{2}, SlotId{1}}, fed(1), fed(2)}),
              "task 2: comes back without room (P4.1, P1.2)");
}

TEST(Valid, BringsBackWhatAClientHolds) {
    const Scene s = Scene().parked(1, 100, ParkMode::swap, [](sched::Parked& p) { p.held = true; });
    EXPECT_EQ(verdict(s, {}), "good");
    EXPECT_EQ(verdict(s, {Resume{TaskId{1}, SlotId{0}}, fed(1)}),
              "task 1: resumed although a client holds it (P7.3)");
}

TEST(Valid, LetsSomebodyWaitForAnEmptyPool) {
    EXPECT_EQ(verdict(Scene().parked(1, 100), {}), "task 1: parked while the pool is empty (P4.4)");
    EXPECT_EQ(verdict(Scene().idle().waiting(1, 100), {}), "task 1: waits while the pool is empty");
}

TEST(Valid, LetsANewcomerOvertake) {
    const Scene s = Scene("default", 1000).decoding(1, 400).parked(2, 590).idle().waiting(3, 50);
    EXPECT_EQ(verdict(s, {fed(1)}), "good");
    EXPECT_EQ(verdict(s, {Admit{TaskId{3}, SlotId{2}, Tokens{0}}, fed(1), fed(3, 50)}),
              "task 3: let in before a parked one that is as important (F6)");
}

TEST(Valid, DisplacesAnEqual) {
    const Scene s = Scene("default").decoding(1, 100).decoding(2, 100).waiting(3, 50);
    EXPECT_EQ(verdict(s, {Park{TaskId{2}, ParkMode::swap, ParkReason::priority, true},
                          Admit{TaskId{3}, SlotId{1}, Tokens{0}}, fed(1), fed(3, 50)}),
              "task 3: takes the slot of one that is not less important (P1.6)");
}

TEST(Valid, EndsWhatCouldGoOn) {
    EXPECT_EQ(verdict(Scene().decoding(1, 100), {Finish{TaskId{1}}}),
              "task 1: ended although somebody could go on (P4.6)");
    EXPECT_EQ(verdict(Scene().parked(1, 100), {Finish{TaskId{1}}}),
              "task 1: ended although it fits the pool (P4.5)");
}

TEST(Valid, SplitsAVerifyBlock) {
    const Scene s = Scene().decoding(1, 100, [](sched::Resident& r) { r.draft = Tokens{3}; });
    EXPECT_EQ(verdict(s, {fed(1, 4)}), "good");
    EXPECT_EQ(verdict(s, {fed(1, 2)}), "task 1: a verify block is split (P1.7)");
}

TEST(Valid, LetsSomebodyStandStill) {
    const Scene s = Scene().decoding(1, 100).decoding(2, 100).prefilling(3, 90, 0);
    EXPECT_EQ(verdict(s, {fed(1), fed(2), fed(3, 64)}), "good");
    EXPECT_EQ(verdict(s, {fed(1), fed(3, 64)}), "task 2: makes no token although there is room");
    EXPECT_EQ(verdict(s, {fed(1), fed(2)}), "a prompt stands still although there is room");
    EXPECT_EQ(verdict(s, {fed(1), fed(2), fed(3, 65)}), "more prompt tokens than a step takes");
}

TEST(Valid, FailsEverybody) {
    Scene s = Scene("swap", 299).decoding(1, 200).decoding(2, 100);
    EXPECT_EQ(verdict(s, {sched::FailAll{}}), "everybody fails although preemption is on");
    s.policy.preempt = false;
    EXPECT_EQ(verdict(s, {sched::FailAll{}}), "good");
    s.view.pool = Cells{300};
    EXPECT_EQ(verdict(s, {sched::FailAll{}}), "everybody fails although there is room");
}

}  // namespace
}  // namespace kvalet::test
