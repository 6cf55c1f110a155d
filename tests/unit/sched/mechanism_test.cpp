// P3: how it is parked.
#include <gtest/gtest.h>

#include "unit/sched/scene.h"

namespace kvalet::test {
namespace {

constexpr std::int64_t kKiB = 1024;

/// Task 2 has to go: its snapshot is 100 KiB.
Scene one_too_many(const char* preset, const Scene::Change& change = {}) {
    return Scene(preset, 300).decoding(1, 200).decoding(2, 101, change);
}

TEST(Mechanism, P3_1_NoLimitAlwaysSwaps) {
    EXPECT_EQ(one_too_many("swap").parks(), "park 2 swap kv_full");
}

TEST(Mechanism, P3_1_ZeroNeverCopies) {
    EXPECT_EQ(one_too_many("recompute").parks(), "park 2 recompute kv_full");
}

TEST(Mechanism, P3_1_ABudgetSwapsWhileTheBytesFit) {
    Scene s = one_too_many("hybrid");
    s.policy.budget_bytes = 100 * kKiB;
    EXPECT_EQ(s.parks(), "park 2 swap kv_full");
    s.policy.budget_bytes = 100 * kKiB - 1;
    EXPECT_EQ(s.parks(), "park 2 recompute kv_full");
    s.policy.budget_bytes = 150 * kKiB;
    s.view.parked_bytes = Bytes{50 * kKiB};
    EXPECT_EQ(s.parks(), "park 2 swap kv_full");
    s.view.parked_bytes = Bytes{50 * kKiB + 1};
    EXPECT_EQ(s.parks(), "park 2 recompute kv_full") << "what is held counts";
}

TEST(Mechanism, P3_5_TheParksOfOneStepShareTheBudget) {
    Scene s("hybrid", 500);
    s.decoding(1, 400).decoding(2, 101).decoding(3, 101);
    s.policy.budget_bytes = 150 * kKiB;
    s.view.pool = Cells{401};
    EXPECT_EQ(s.parks(), "park 3 swap kv_full, park 2 recompute kv_full");
}

TEST(Mechanism, P3_3_OneThatNeitherWayCanTakeIsNoCandidate) {
    const auto neither = [](sched::Resident& r) { r.can_swap = r.can_drop = false; };
    EXPECT_EQ(Scene("swap", 390).decoding(1, 200).decoding(2, 90, neither).decoding(3, 101).parks(),
              "park 3 swap kv_full");
    const auto no_drop = [](sched::Resident& r) { r.can_drop = false; };
    Scene s = Scene("hybrid", 390).decoding(1, 200).decoding(2, 90, no_drop).decoding(3, 101);
    EXPECT_EQ(s.parks(), "park 2 swap kv_full");
    s.policy.budget_bytes = 50 * kKiB;
    EXPECT_EQ(s.parks(), "park 3 recompute kv_full") << "over the budget it cannot be copied either";
}

TEST(Mechanism, P3_3_OneThatCannotBeCopiedIsDropped) {
    EXPECT_EQ(one_too_many("swap", [](sched::Resident& r) { r.can_swap = false; }).parks(),
              "park 2 recompute kv_full");
}

// P3.2, P3.4: what happens when a copy fails is the engine's (faults_test.cpp).

}  // namespace
}  // namespace kvalet::test
