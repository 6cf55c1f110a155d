// What every plan keeps, whatever the view: 10^5 views from a seed, and some more from rapidcheck, which
// shrinks what it finds. KVALET_TEST_SEED and KVALET_TEST_VIEWS change the seed and the number of views.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <set>

#include "unit/sched/random_view.h"
#include "unit/sched/scene.h"

namespace kvalet::test {
namespace {

using sched::Park;
using sched::Phase;
using sched::Plan;

/// Nothing wrong, or one sentence.
using Property = std::function<std::string(const Situation&)>;

std::uint64_t number_from(const char* variable, std::uint64_t fallback) {
    const char* text = std::getenv(variable);
    return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

constexpr std::uint64_t kSeed = 5;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kViews = 20'000;  // a sanitizer takes ten times as long
#else
constexpr std::uint64_t kViews = 100'000;
#endif

void check(const Property& property) {
    const std::uint64_t seed = number_from("KVALET_TEST_SEED", kSeed);
    const std::uint64_t n = number_from("KVALET_TEST_VIEWS", kViews);
    std::cout << "seed " << seed << ", " << n << " views\n";
    for (std::uint64_t i = 0; i < n; ++i) {
        Choices choices(seed * 1'000'003 + i);
        const Situation s = random_situation(choices);
        const std::string wrong = property(s);
        ASSERT_EQ(wrong, "") << "seed " << seed << " view " << i << '\n'
                             << text_of(s) << "  plan: " << text_of(sched::plan(s.view, s.policy));
    }
    EXPECT_TRUE(rc::check([&property] {
        Choices choices(*rc::gen::arbitrary<std::vector<std::uint32_t>>());
        const Situation s = random_situation(choices);
        const std::string wrong = property(s);
        if (!wrong.empty()) {
            RC_LOG() << text_of(s) << "  plan: " << text_of(sched::plan(s.view, s.policy)) << '\n';
            RC_FAIL(wrong);
        }
    }));
}

template <class A>
std::vector<A> all_of(const Plan& plan) {
    std::vector<A> found;
    for (const sched::Action& action : plan.actions) {
        if (const A* a = std::get_if<A>(&action)) {
            found.push_back(*a);
        }
    }
    return found;
}

bool for_room(const Park& p) {
    return p.reason == sched::ParkReason::kv_full || p.reason == sched::ParkReason::watermark;
}

/// After room was made for the step, for the good of others.
bool leaves_later(const Park& p) {
    return p.reason == sched::ParkReason::priority || p.reason == sched::ParkReason::slow_reader;
}

bool parks_for_room(const Plan& plan) {
    const auto parks = all_of<Park>(plan);
    return std::any_of(parks.begin(), parks.end(), for_room);
}

bool preempts(const Situation& s) {
    return s.policy.preempt && s.view.unified;
}

TEST(Plan, IsAlwaysValid) {
    check([](const Situation& s) {
        std::string why;
        return valid(s.view, s.policy, sched::plan(s.view, s.policy), &why) ? "" : why;
    });
}

// P2.5. A plan object that was used before leaves no trace in the next plan.
TEST(Plan, P2_5_TheSameViewGivesTheSamePlan) {
    Plan used;
    check([&used](const Situation& s) {
        plan_into(s.view, s.policy, used);
        const Plan fresh = sched::plan(s.view, s.policy);
        return text_of(used) == text_of(fresh) && used.survivor == fresh.survivor ? "" : "another plan";
    });
}

template <class A>
std::vector<std::uint64_t> tasks_of(const Plan& plan) {
    std::vector<std::uint64_t> tasks;
    for (const A& a : all_of<A>(plan)) {
        tasks.push_back(a.task.value());
    }
    return tasks;
}

/// Everybody moves one slot on.
Situation rotated(Situation s) {
    std::vector<sched::Resident>& list = s.view.residents;
    if (list.size() > 1) {
        std::vector<SlotId> slots;
        for (const sched::Resident& r : list) {
            slots.push_back(r.slot);
        }
        std::rotate(list.begin(), list.begin() + 1, list.end());
        for (std::size_t i = 0; i < list.size(); ++i) {
            list[i].slot = slots[i];
        }
    }
    return s;
}

// P2.5. Which slots the sequences stand in decides nothing: the order is total by what they are.
TEST(Plan, P2_5_TheOrderOfTheSlotsDecidesNothing) {
    check([](const Situation& s) -> std::string {
        // Those that were asked for are parked slot by slot, and share a budget in that order.
        for (const sched::Resident& r : s.view.residents) {
            if (r.park_asked || r.park_forced) {
                return "";
            }
        }
        const Situation moved = rotated(s);
        const Plan a = sched::plan(s.view, s.policy);
        const Plan b = sched::plan(moved.view, moved.policy);
        if (text_of(a, "park finish fail evict yield") != text_of(b, "park finish fail evict yield") ||
            tasks_of<sched::Resume>(a) != tasks_of<sched::Resume>(b) ||
            tasks_of<sched::Admit>(a) != tasks_of<sched::Admit>(b)) {
            return "another plan: " + text_of(b);
        }
        auto feeds = [](const Plan& p) {
            std::multiset<std::pair<std::uint64_t, std::int64_t>> set;
            for (const sched::Feed& f : all_of<sched::Feed>(p)) {
                set.emplace(f.task.value(), f.n.value());
            }
            return set;
        };
        return feeds(a) == feeds(b) ? "" : "others are fed: " + text_of(b);
    });
}

/// P1.1, written for this test alone.
std::int64_t reserve(const Situation& s, const std::set<std::uint64_t>& parked) {
    std::int64_t decode = 0, replay = 0, prompt = 0;
    for (const sched::Resident& r : s.view.residents) {
        if (parked.contains(r.task.value())) {
            continue;
        }
        const std::int64_t rest = (r.length - r.computed).value();
        if (r.computed < r.replay_end) {
            replay += rest;
        } else if (!r.blocked) {
            (r.computed >= r.n_prompt ? decode : prompt) += rest + r.draft.value();
        }
    }
    const std::int64_t room_in_batch = std::max<std::int64_t>(0, s.view.n_batch.value() - decode);
    return decode + replay +
           std::min({prompt, s.policy.prefill_chunk.value(), s.view.n_ubatch.value(), room_in_batch});
}

bool fits_without(const Situation& s, const std::set<std::uint64_t>& parked) {
    std::int64_t cells = 0;  // idle slots are empty by then
    for (const sched::Resident& r : s.view.residents) {
        cells += parked.contains(r.task.value()) ? 0 : r.cells.value();
    }
    const std::int64_t pool = s.view.pool.value();
    const bool watermark = s.policy.trigger == sched::Trigger::watermark;
    return cells + reserve(s, parked) <= (watermark ? pool * s.policy.high_pct / 100 : pool);
}

// P2.4, F12, F14.
TEST(Plan, P2_4_WithoutAnyOneOfTheParkedTheStepWouldNotFit) {
    std::size_t n_parks = 0;
    check([&n_parks](const Situation& s) -> std::string {
        const Plan plan = sched::plan(s.view, s.policy);
        std::set<std::uint64_t> parked;
        for (const Park& p : all_of<Park>(plan)) {
            if (!leaves_later(p)) {
                parked.insert(p.task.value());
            }
        }
        for (const Park& p : all_of<Park>(plan)) {
            if (for_room(p)) {
                ++n_parks;
                std::set<std::uint64_t> others = parked;
                others.erase(p.task.value());
                if (fits_without(s, others)) {
                    return "task " + std::to_string(p.task.value()) + " is parked without need";
                }
            }
        }
        return "";
    });
    EXPECT_GT(n_parks, 5'000U) << "or this says nothing";
}

// P1.2. And enough of them: when it does not fit, nobody is left who could be parked.
TEST(Plan, P1_2_WhenTheStepDoesNotFitNobodyIsLeftToPark) {
    check([](const Situation& s) -> std::string {
        if (!preempts(s)) {
            return "";
        }
        const Plan plan = sched::plan(s.view, s.policy);
        std::set<std::uint64_t> parked;
        for (const Park& p : all_of<Park>(plan)) {
            if (!leaves_later(p)) {
                parked.insert(p.task.value());
            }
        }
        if (s.view.residents.size() - parked.size() < 2 || fits_without(s, parked)) {
            return "";
        }
        for (const sched::Resident& r : s.view.residents) {
            if (!parked.contains(r.task.value()) && !r.family && r.can_drop) {
                return "task " + std::to_string(r.task.value()) + " could have been parked";
            }
        }
        return "";
    });
}

// P1.3.
TEST(Plan, P1_3_NobodyIsParkedForRoomWhileAnIdleSlotHoldsCells) {
    check([](const Situation& s) -> std::string {
        const Plan plan = sched::plan(s.view, s.policy);
        if (!parks_for_room(plan)) {
            return "";
        }
        std::set<std::int32_t> emptied;
        for (const sched::EvictIdle& e : all_of<sched::EvictIdle>(plan)) {
            emptied.insert(e.slot.value());
        }
        for (const sched::IdleSlot& slot : s.view.idle) {
            if (slot.cached > Cells{0} && !emptied.contains(slot.slot.value())) {
                return "slot " + std::to_string(slot.slot.value()) + " holds cells";
            }
        }
        return "";
    });
}

// P3.1, P3.5.
TEST(Plan, P3_5_TheBudgetIsNeverExceeded) {
    check([](const Situation& s) -> std::string {
        std::int64_t held = s.view.parked_bytes.value();
        for (const Park& p : all_of<Park>(sched::plan(s.view, s.policy))) {
            held += p.mode == sched::ParkMode::swap ? find_resident(s.view, p.task)->snapshot.value() : 0;
        }
        return s.policy.budget_bytes == sched::kUnlimited || held <= s.policy.budget_bytes
                   ? ""
                   : "over the budget";
    });
}

// P2.2, P3.3.
TEST(Plan, P2_2_FamiliesAndWhatCannotBeParkedStay) {
    check([](const Situation& s) -> std::string {
        for (const Park& p : all_of<Park>(sched::plan(s.view, s.policy))) {
            const sched::Resident& r = *find_resident(s.view, p.task);
            if (r.family || !(p.mode == sched::ParkMode::swap ? r.can_swap : r.can_drop)) {
                return "task " + std::to_string(p.task.value()) + " is parked";
            }
        }
        return "";
    });
}

// P2.3, and P2.1 for the leader: only where all others are families or can be parked in no way.
TEST(Plan, P2_3_TheSurvivorAndTheLeaderStay) {
    check([](const Situation& s) -> std::string {
        const Plan plan = sched::plan(s.view, s.policy);
        std::set<std::uint64_t> gone;
        for (const Park& p : all_of<Park>(plan)) {
            if (!for_room(p)) {
                gone.insert(p.task.value());
            }
        }
        const sched::Resident* one = nullptr;
        std::int32_t highest = -1000;
        bool others_are_candidates = true;
        for (const sched::Resident& r : s.view.residents) {
            if (gone.contains(r.task.value())) {
                continue;
            }
            others_are_candidates &= !r.family && r.can_drop;
            if (r.blocked) {
                continue;  // one that its reader holds up leads nothing and outlives nobody
            }
            highest = std::max(highest, r.priority);
            if (s.policy.victim == sched::VictimOrder::priority ? r.task == s.view.survivor
                : one == nullptr
                    ? true
                    : r.length > one->length || (r.length == one->length && r.task < one->task)) {
                one = &r;
            }
        }
        if (one == nullptr || !others_are_candidates ||
            (s.policy.victim == sched::VictimOrder::priority && one->priority < highest)) {
            return "";
        }
        for (const Park& p : all_of<Park>(plan)) {
            if (for_room(p) && p.task == one->task) {
                return "it is parked";
            }
        }
        return "";
    });
}

// P1.2: LOW. What comes back or is let in beside others stays below it, all promises kept.
TEST(Plan, P1_2_NothingComesBackAboveLow) {
    std::size_t n = 0;
    check([&n](const Situation& s) -> std::string {
        if (s.policy.trigger != sched::Trigger::watermark || !preempts(s)) {
            return "";
        }
        const Plan plan = sched::plan(s.view, s.policy);
        const auto resumes = all_of<sched::Resume>(plan);
        if (resumes.empty()) {
            return "";
        }
        if (parks_for_room(plan)) {
            return "parks and resumes in one step";
        }
        std::int64_t cells = 0;
        std::size_t company = resumes.size() + all_of<sched::Admit>(plan).size();
        std::set<std::uint64_t> parked;
        for (const Park& p : all_of<Park>(plan)) {
            parked.insert(p.task.value());
        }
        for (const sched::Resident& r : s.view.residents) {
            if (!parked.contains(r.task.value())) {
                cells += r.cells.value();
                ++company;
            }
        }
        for (const sched::Resume& r : resumes) {
            for (const sched::Parked& p : s.view.parked) {
                cells += p.task == r.task ? p.stored.value() : 0;
            }
        }
        n += company > 1 ? 1 : 0;
        return company == 1 || cells <= s.view.pool.value() * s.policy.low_pct / 100 ? "" : "above LOW";
    });
    EXPECT_GT(n, 20U) << "or this says nothing";
}

// P4.4, P10.
TEST(Plan, P4_4_NothingParkedWaitsWhileThePoolIsEmpty) {
    std::size_t n = 0;
    check([&n](const Situation& s) -> std::string {
        const bool waits = std::any_of(s.view.parked.begin(), s.view.parked.end(),
                                       [](const sched::Parked& p) { return !p.held && p.slot != kNoSlot; });
        if (!s.view.residents.empty() || !waits || !preempts(s)) {
            return "";
        }
        ++n;
        const Plan plan = sched::plan(s.view, s.policy);
        const bool moves = !all_of<sched::Resume>(plan).empty() || !all_of<sched::Admit>(plan).empty() ||
                           !all_of<sched::Finish>(plan).empty();
        return moves ? "" : "nobody comes";
    });
    EXPECT_GT(n, 20U) << "or this says nothing";
}

// P10. Whoever can go on, goes on, or makes way for others in this very step.
TEST(Plan, P10_SomethingHappensWhileThereIsSomethingToDo) {
    check([](const Situation& s) -> std::string {
        bool work = false;
        for (const sched::Resident& r : s.view.residents) {
            work |= !r.blocked && r.length > r.computed;
        }
        return !work || !sched::plan(s.view, s.policy).actions.empty() ? "" : "nothing happens";
    });
}

// P1.6: a slot is taken only from somebody less important, or whom a client holds.
TEST(Plan, P1_6_EqualPrioritiesNeverDisplace) {
    std::size_t n = 0;
    check([&n](const Situation& s) -> std::string {
        const Plan plan = sched::plan(s.view, s.policy);
        const auto effective = [&s](const auto& x) { return effective_priority(x, s.policy.n_starved); };
        std::int32_t highest = -1000;
        for (const sched::Admit& a : all_of<sched::Admit>(plan)) {
            for (const sched::Waiting& w : s.view.waiting) {
                highest = w.task == a.task ? std::max(highest, effective(w)) : highest;
            }
        }
        for (const Park& p : all_of<Park>(plan)) {
            if (p.reason != sched::ParkReason::priority) {
                continue;
            }
            ++n;
            if (effective(*find_resident(s.view, p.task)) >= highest || s.preset != "default") {
                return "task " + std::to_string(p.task.value()) + " is displaced";
            }
        }
        return "";
    });
    EXPECT_GT(n, 20U) << "or this says nothing";
}

}  // namespace
}  // namespace kvalet::test
