// P1.8: when the pool has room the check allocates nothing. Every allocation of this process is counted.
#include <gtest/gtest.h>

#include "support/counted_allocations.h"
#include "unit/sched/random_view.h"
#include "unit/sched/scene.h"

namespace kvalet::test {
namespace {

/// Plans and judges as a step of the engine does, with what it used before; the allocations of that.
std::size_t allocations_of_a_step(const sched::View& view, const sched::Policy& policy, sched::Plan& plan,
                                  std::string& why) {
    const std::size_t before = allocations();
    plan_into(view, policy, plan);
    const bool good = valid(view, policy, plan, &why);
    const std::size_t n = allocations() - before;
    EXPECT_TRUE(good) << why;
    return n;
}

TEST(Cost, TheCounterCounts) {
    const std::size_t before = allocations();
    const std::string long_text(1000, 'x');
    EXPECT_EQ(allocations(), before + 1) << long_text.size();
}

TEST(Cost, P1_8_WithRoomTheCheckAllocatesNothing) {
    for (const std::string_view preset : sched::kPresets) {
        Scene s(std::string(preset).c_str(), 100'000);
        for (std::uint64_t task = 1; task <= 64; ++task) {
            s.decoding(task, 100 + static_cast<std::int64_t>(task));
        }
        s.prefilling(99, 2000, 500).replaying(98, 1000, 20).idle(500, 1).idle(300, 2);
        sched::Plan plan;
        std::string why;
        allocations_of_a_step(s.view, s.policy, plan, why);
        for (int step = 0; step < 3; ++step) {
            EXPECT_EQ(allocations_of_a_step(s.view, s.policy, plan, why), 0U) << preset;
        }
        EXPECT_EQ(plan.actions.size(), 65U) << "64 that decode, and one chunk";
    }
}

// Whatever the view: as long as nobody is parked nor has to be.
TEST(Cost, P1_8_WithoutPressureNoViewAllocates) {
    sched::Plan plan;
    plan.actions.reserve(64);
    plan.runners.reserve(64);
    for (auto* marks : {&plan.resident_marks, &plan.idle_marks, &plan.parked_marks}) {
        marks->reserve(64);
    }
    std::string why;
    std::size_t n_calm = 0;
    for (std::uint64_t i = 0; i < 20'000; ++i) {
        Choices choices(i);
        const Situation s = random_situation(choices);
        const std::size_t n = allocations_of_a_step(s.view, s.policy, plan, why);
        if (s.view.parked.empty() && text_of(plan, "park").empty()) {
            ++n_calm;
            ASSERT_EQ(n, 0U) << text_of(s) << text_of(plan);
        }
    }
    EXPECT_GT(n_calm, 3'000U) << "or this says nothing";
}

}  // namespace
}  // namespace kvalet::test
