// P1: when something is parked.
#include <gtest/gtest.h>

#include "unit/sched/scene.h"

namespace kvalet::test {
namespace {

void draft3(sched::Resident& r) {
    r.draft = Tokens{3};
}
void blocked(sched::Resident& r) {
    r.blocked = true;
}
void family(sched::Resident& r) {
    r.family = true;
}
void asked(sched::Resident& r) {
    r.park_asked = true;
}
void forced(sched::Resident& r) {
    r.park_forced = true;
}

// P1.1: one token for each that decodes. Used 298 + reserve 2.
TEST(Trigger, P1_1_EachThatDecodesNeedsOneCell) {
    EXPECT_EQ(Scene("swap", 300).decoding(1, 200).decoding(2, 100).parks(), "");
    EXPECT_EQ(Scene("swap", 299).decoding(1, 200).decoding(2, 100).parks(), "park 2 swap kv_full");
}

TEST(Trigger, P1_1_AndTheDraftsThatItMayVerify) {
    EXPECT_EQ(Scene("swap", 303).decoding(1, 200, draft3).decoding(2, 100).parks(), "");
    EXPECT_EQ(Scene("swap", 302).decoding(1, 200, draft3).decoding(2, 100).parks(), "park 2 swap kv_full");
}

// 199 + 1 to decode, and of the prompt's 150 tokens the 64 that fit the chunk.
TEST(Trigger, P1_1_PromptsNeedOnlyWhatThisStepFeeds) {
    EXPECT_EQ(Scene("swap", 264).decoding(1, 200).prefilling(2, 150, 0).parks(), "");
    EXPECT_EQ(Scene("swap", 263).decoding(1, 200).prefilling(2, 150, 0).parks(), "park 2 swap kv_full");
    EXPECT_EQ(Scene("swap", 264).decoding(1, 200).prefilling(2, 75, 0).prefilling(3, 75, 0).parks(), "")
        << "two prompts share one chunk";
}

// Nobody is parked for a larger chunk; where there is room it is fed all the same.
TEST(Trigger, P1_1_OfPromptsOneSmallChunkIsEnough) {
    EXPECT_EQ(Scene("swap", 600).prefilling(1, 300, 200).prefilling(2, 200, 60).text(),
              "feed 1 100, feed 2 28");
    EXPECT_EQ(Scene("swap", 324).prefilling(1, 300, 200).prefilling(2, 200, 60).text(), "feed 1 64");
    EXPECT_EQ(Scene("swap", 323).prefilling(1, 300, 200).prefilling(2, 200, 60).parks(),
              "park 2 swap kv_full");
}

TEST(Trigger, P1_1_AReplayNeedsItsWholeRest) {
    EXPECT_EQ(Scene("swap", 350).decoding(1, 200).replaying(2, 150, 10).parks(), "");
    EXPECT_EQ(Scene("swap", 349).decoding(1, 200).replaying(2, 150, 10).parks(), "park 2 swap kv_full");
}

TEST(Trigger, P1_1_OneWhoseReaderIsBehindNeedsNothing) {
    EXPECT_EQ(Scene("swap", 299).decoding(1, 200, blocked).decoding(2, 100).parks(), "");
}

TEST(Trigger, P1_2_WatermarkParksAboveHigh) {
    EXPECT_EQ(Scene("watermark", 1000).decoding(1, 600).decoding(2, 340).parks(), "") << "940 of 1000";
    EXPECT_EQ(Scene("watermark", 1000).decoding(1, 600).decoding(2, 341).parks(), "park 2 swap watermark");
    EXPECT_EQ(Scene("swap", 1000).decoding(1, 600).decoding(2, 400).parks(), "") << "full: 1000 of 1000";
}

// P4.6: one alone may fill the pool, whatever HIGH is.
TEST(Trigger, P1_2_TheOnlyOneIsNeverParkedForRoom) {
    EXPECT_EQ(Scene("watermark", 1000).decoding(1, 999).text(), "feed 1 1");
    EXPECT_EQ(Scene("swap", 1000).decoding(1, 1000).text(), "feed 1 1");
}

TEST(Trigger, P1_3_IdleSlotsAreEmptiedFirst) {
    Scene s("swap", 1000);
    s.decoding(1, 500).decoding(2, 300).idle(90, 7).idle(60, 3).idle(40, 9);
    EXPECT_EQ(s.text(), "feed 1 1, feed 2 1") << "988 cells and 2";
    s.view.pool = Cells{989};
    EXPECT_EQ(s.text(), "evict 3, feed 1 1, feed 2 1") << "the least recently used, no more than needed";
    s.view.pool = Cells{899};
    EXPECT_EQ(s.text(), "evict 3, evict 2, feed 1 1, feed 2 1");
    s.view.pool = Cells{799};
    EXPECT_EQ(s.text(), "evict 3, evict 2, evict 4, park 2 swap kv_full, feed 1 1");
}

TEST(Trigger, P1_4_ForcedParksAreForEverybodyWhoseTimeItIs) {
    EXPECT_EQ(Scene().decoding(1, 50, forced).decoding(2, 60).decoding(3, 70, forced).text(),
              "park 1 swap forced, park 3 swap forced, feed 2 1");
    EXPECT_EQ(Scene("recompute").decoding(1, 50, forced).text(), "park 1 recompute forced");
    EXPECT_EQ(Scene().decoding(1, 50, forced).decoding(2, 50, family).parks(), "park 1 swap forced");
}

TEST(Trigger, P1_5_AParkThatWasAskedForComesFirst) {
    EXPECT_EQ(Scene("swap", 299).decoding(1, 200, asked).decoding(2, 100).parks(), "park 1 swap explicit")
        << "its cells are room enough";
    EXPECT_EQ(Scene().decoding(1, 200, asked).text(), "park 1 swap explicit") << "also the only one";
}

// P1.6 is in admit_test.cpp.

TEST(Trigger, P1_7_OneMoreVictimAlthoughTheLedgerHasRoom) {
    const Scene s = Scene().decoding(1, 200).decoding(2, 100).decoding(3, 150);
    const auto park = sched::one_more_victim(s.view, s.policy);
    ASSERT_TRUE(park.has_value());
    EXPECT_EQ(park->task, TaskId{2});
    EXPECT_EQ(park->mode, sched::ParkMode::swap);
    const Scene alone = Scene().decoding(1, 200);
    EXPECT_FALSE(sched::one_more_victim(alone.view, alone.policy).has_value());
    Scene off = s;
    off.policy.preempt = false;
    EXPECT_FALSE(sched::one_more_victim(off.view, off.policy).has_value());
}

TEST(Trigger, P1_7_AVerifyBlockIsFedWholeOrNotAtAll) {
    EXPECT_EQ(Scene("swap", 300).decoding(1, 200, draft3).text(), "feed 1 4");
    const auto family_draft3 = [](sched::Resident& r) {
        r.family = true;
        r.draft = Tokens{3};
    };
    EXPECT_EQ(Scene("swap", 204).decoding(1, 200, family_draft3).decoding(2, 3, family).text(), "feed 2 1")
        << "201 cells are held; four do not fit, and nobody can be parked";
}

// P1.8 is in cost_test.cpp.

TEST(Trigger, NothingIsParkedInSplitModeOrWithPreemptionOff) {
    Scene split("swap", 299);
    split.decoding(1, 200).decoding(2, 100);
    split.view.unified = false;
    EXPECT_EQ(split.text(), "feed 1 1, feed 2 1");
    Scene off("swap", 299);
    off.decoding(1, 200).decoding(2, 100);
    off.policy.preempt = false;
    EXPECT_EQ(off.text(), "fail all") << "llama-server-api 3.10";
    off.view.pool = Cells{300};
    EXPECT_EQ(off.text(), "feed 1 1, feed 2 1");
}

TEST(Trigger, WithPreemptionOffIdleSlotsAreStillEmptied) {
    Scene off("swap", 300);
    off.decoding(1, 200).decoding(2, 100).idle(2, 1);
    off.policy.preempt = false;
    EXPECT_EQ(off.text(), "evict 2, feed 1 1, feed 2 1");
}

}  // namespace
}  // namespace kvalet::test
