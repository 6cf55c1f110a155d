// P4: who comes back, and when.
#include <gtest/gtest.h>

#include "unit/sched/scene.h"

namespace kvalet::test {
namespace {

using sched::ParkMode;

std::string resumes(const Scene& s) {
    return text_of(s.plan(), "resume");
}

Scene& pool_of(Scene& s, std::int64_t cells) {
    s.view.pool = Cells{cells};
    return s;
}

// 200 cells for the one that runs, 100 for the one that comes back, 8 of margin.
TEST(Resume, P4_1_ASwappedOneNeedsItsCellsAndItsNextStep) {
    Scene s = Scene("swap").decoding(1, 200).parked(2, 100);
    EXPECT_EQ(pool_of(s, 308).text(), "resume 2 in 1, feed 2 1, feed 1 1");
    EXPECT_EQ(pool_of(s, 307).text(), "feed 1 1");
}

TEST(Resume, P4_1_ADroppedOneNeedsItsWholeReplay) {
    Scene s = Scene("recompute").decoding(1, 200).parked(2, 100, ParkMode::drop);
    EXPECT_EQ(pool_of(s, 308).text(), "resume 2 in 1, feed 1 1, feed 2 64");
    EXPECT_EQ(pool_of(s, 307).text(), "feed 1 1");
}

// Where it costs more than it brings, a replay waits.
TEST(Resume, ADroppedOneComesBackWhereTheReplayPays) {
    Scene s = Scene("default").decoding(1, 200).parked(2, 100, ParkMode::drop);
    EXPECT_EQ(resumes(pool_of(s, 300 + 99)), "resume 2 in 1") << "99 tokens are computed once more";
    EXPECT_EQ(resumes(pool_of(s, 300 + 98)), "");
    EXPECT_EQ(resumes(Scene("default", 100).parked(2, 100, ParkMode::drop)), "resume 2 in 0")
        << "with nothing resident it is waived (P4.4)";
    s = Scene("default").decoding(1, 200).parked(2, 100);
    EXPECT_EQ(resumes(pool_of(s, 308)), "resume 2 in 1") << "a copy replays nothing";
}

// F5: not for one chunk only.
TEST(Resume, P4_1_OneInItsPromptNeedsTheWholePromptAndAFirstToken) {
    const auto in_prompt = [](sched::Parked& p) {
        p.n_prompt = p.length;
        p.computed = p.stored = Tokens{30};
    };
    Scene s = Scene("swap").decoding(1, 200).parked(2, 100, ParkMode::swap, in_prompt);
    EXPECT_EQ(resumes(pool_of(s, 309)), "resume 2 in 1");
    EXPECT_EQ(resumes(pool_of(s, 308)), "");
}

// Cells that a resident is sure to claim are not given away.
TEST(Resume, P4_1_FitsBesideWhatIsPromisedToResidents) {
    Scene s = Scene("swap").decoding(9, 10).prefilling(1, 200, 50).parked(2, 100);
    EXPECT_EQ(resumes(pool_of(s, 10 + 201 + 108)), "resume 2 in 2");
    EXPECT_EQ(resumes(pool_of(s, 10 + 201 + 107)), "");
}

TEST(Resume, P1_3_IdleCachesMakeRoom) {
    Scene s = Scene("swap").decoding(1, 200).parked(2, 100).idle(50, 1);
    EXPECT_EQ(pool_of(s, 308).text(), "evict 2, resume 2 in 1, feed 2 1, feed 1 1");
}

TEST(Resume, P4_2_FitTakesTheMostParkedThenTheLongestParked) {
    const auto parks = [](std::int32_t n) { return [n](sched::Parked& p) { p.parks = n; }; };
    Scene s("swap", 1000);
    s.parked(1, 100, ParkMode::swap, parks(1)).parked(2, 100, ParkMode::swap, parks(2));
    s.parked(3, 100, ParkMode::swap, parks(2)).parked(4, 600, ParkMode::swap, parks(3));
    EXPECT_EQ(resumes(s), "resume 4 in 3, resume 2 in 1, resume 3 in 2, resume 1 in 0");
    EXPECT_EQ(resumes(pool_of(s, 610)), "resume 4 in 3");
    EXPECT_EQ(text_of(pool_of(s, 500).plan(), "resume finish"),
              "finish 4, resume 2 in 1, resume 3 in 2, resume 1 in 0");
}

TEST(Resume, P4_2_FitTakesTheFirstThatFits) {
    Scene s = Scene("swap", 400).decoding(9, 200).parked(1, 300).parked(2, 100).parked(3, 50);
    EXPECT_EQ(resumes(s), "resume 2 in 2, resume 3 in 3");
}

// F28: nothing smaller overtakes.
TEST(Resume, P4_2_FairIsStrictlyByTimeOfParking) {
    Scene s = Scene("default", 400).decoding(9, 200).parked(1, 300).parked(2, 100).parked(3, 50);
    EXPECT_EQ(resumes(s), "");
    EXPECT_EQ(resumes(pool_of(s, 532)), "resume 1 in 1");
    EXPECT_EQ(resumes(pool_of(s, 1000)), "resume 1 in 1, resume 2 in 2, resume 3 in 3");
}

TEST(Resume, P4_2_FairWithinAPriority) {
    const auto priority = [](std::int32_t n) { return [n](sched::Parked& p) { p.priority = n; }; };
    Scene s("default", 1000);
    s.parked(1, 100).parked(2, 100, ParkMode::swap, priority(2)).parked(3, 100, ParkMode::swap, priority(2));
    EXPECT_EQ(resumes(s), "resume 2 in 1, resume 3 in 2, resume 1 in 0");
}

TEST(Resume, P4_2_PriorityByEffectivePriorityThenParksThenTime) {
    const auto of = [](std::int32_t priority, std::int32_t parks) {
        return [=](sched::Parked& p) {
            p.priority = priority;
            p.parks = parks;
        };
    };
    Scene s("priority", 1000);
    s.parked(1, 100, ParkMode::swap, of(1, 1)).parked(2, 100, ParkMode::swap, of(0, 3));
    s.parked(3, 100, ParkMode::swap, of(1, 2)).parked(4, 100, ParkMode::swap, of(5, 1));
    EXPECT_EQ(resumes(s), "resume 4 in 3, resume 2 in 1, resume 3 in 2, resume 1 in 0")
        << "three parks of the second are one step of priority";
    EXPECT_EQ(resumes(pool_of(s, 215)), "resume 4 in 3, resume 2 in 1");
}

// P4.3 is in victim_test.cpp.

TEST(Resume, P4_4_WithNothingResidentMarginsAndLowAreWaived) {
    EXPECT_EQ(Scene("default", 1000).parked(1, 1000).text(), "resume 1 in 0, feed 1 1");
    EXPECT_EQ(Scene("watermark", 1000).parked(1, 1000).text(), "resume 1 in 0, feed 1 1");
    EXPECT_EQ(resumes(Scene("watermark", 1000).parked(1, 700).parked(2, 250)), "resume 1 in 0")
        << "only for the first";
}

TEST(Resume, P4_4_NotInAStepThatParks) {
    EXPECT_EQ(Scene("swap", 299).decoding(1, 200).decoding(2, 100).parked(3, 20).text(),
              "park 2 swap kv_full, feed 1 1");
}

TEST(Resume, P1_2_WatermarkComesBackOnlyUpToLow) {
    Scene s = Scene("watermark", 1000).decoding(1, 600).parked(2, 192);
    EXPECT_EQ(resumes(s), "resume 2 in 1") << "600 + 192 + 8 of 800";
    s = Scene("watermark", 1000).decoding(1, 601).parked(2, 192);
    EXPECT_EQ(resumes(s), "");
}

TEST(Resume, P4_5_OneThatNoLongerFitsThePoolEnds) {
    EXPECT_EQ(Scene("swap", 500).parked(1, 501).text(), "finish 1");
    EXPECT_EQ(Scene("swap", 500).decoding(2, 100).parked(1, 501).text(), "finish 1, feed 2 1");
}

TEST(Resume, P7_3_OneThatAClientHoldsStays) {
    const auto held = [](sched::Parked& p) { p.held = true; };
    EXPECT_EQ(Scene("default").parked(1, 100, ParkMode::swap, held).text(), "");
    EXPECT_EQ(resumes(Scene("default").parked(1, 900, ParkMode::swap, held).parked(2, 100)), "resume 2 in 1");
}

// P1.6: whoever gave up its slot needs one again.
TEST(Resume, WithoutASlotItTakesTheLeastRecentlyUsed) {
    const auto slotless = [](sched::Parked& p) { p.slot = kNoSlot; };
    Scene s = Scene("default").decoding(1, 100).idle(30, 5).idle(40, 2);
    s.parked(2, 100, ParkMode::swap, slotless);
    EXPECT_EQ(s.text(), "evict 2, resume 2 in 2, feed 2 1, feed 1 1");
    EXPECT_EQ(resumes(Scene("default").decoding(1, 100).parked(2, 100, ParkMode::swap, slotless)), "");
}

TEST(Resume, WithoutASlotItTakesThatOfOneThatAClientHolds) {
    const auto slotless = [](sched::Parked& p) { p.slot = kNoSlot; };
    const auto held = [](sched::Parked& p) { p.held = true; };
    Scene s = Scene("default").decoding(1, 100).parked(2, 50, ParkMode::swap, held);
    s.parked(3, 100, ParkMode::swap, slotless);
    EXPECT_EQ(s.text(), "yield 2, resume 3 in 1, feed 3 1, feed 1 1");
}

// Two that are parked: the slot is for the one that comes back first.
TEST(Resume, WithoutASlotItTakesThatOfOneThatComesBackLater) {
    Scene s = Scene("default").parked(1, 900).parked(2, 100, ParkMode::swap, [](sched::Parked& p) {
        p.slot = kNoSlot;
        p.priority = 1;
    });
    EXPECT_EQ(s.text(), "yield 1, resume 2 in 0, feed 2 1");
}

}  // namespace
}  // namespace kvalet::test
