// Who is let in, and P1.6: what a more important request may take.
#include <gtest/gtest.h>

#include "unit/sched/scene.h"

namespace kvalet::test {
namespace {

using sched::ParkMode;

std::string admits(const Scene& s) {
    return text_of(s.plan(), "admit attach park yield");
}

auto priority(std::int32_t n) {
    return [n](auto& sequence) { sequence.priority = n; };
}

TEST(Admit, AnIdleSlotWhereTheWholePromptFits) {
    Scene s = Scene("priority").decoding(1, 200).idle().waiting(2, 100);
    s.view.pool = Cells{301};
    EXPECT_EQ(s.text(), "admit 2 in 1, feed 1 1, feed 2 64");
    s.view.pool = Cells{300};
    EXPECT_EQ(s.text(), "feed 1 1") << "its first token needs a cell too";
}

// One let in just before the pool is full only drives somebody out.
TEST(Admit, LeavesAllThatThenRunRoomToGrow) {
    Scene s = Scene("default").decoding(1, 200).decoding(2, 100).idle().waiting(3, 100);
    s.view.pool = Cells{401 + 3 * s.policy.growth.value()};
    EXPECT_EQ(admits(s), "admit 3 in 2");
    s.view.pool -= Cells{1};
    EXPECT_EQ(admits(s), "");
    for (const char* preset : {"swap", "recompute", "hybrid", "priority"}) {
        Scene published = Scene(preset).decoding(1, 200).decoding(2, 100).idle().waiting(3, 100);
        published.view.pool = Cells{401};
        EXPECT_EQ(admits(published), "admit 3 in 2") << preset;
    }
}

TEST(Admit, AWholeFamilyHasRoomToGrow) {
    Scene s = Scene("default").decoding(1, 200).idle().idle().waiting(
        2, 100, [](sched::Waiting& w) { w.n_slots = 2; });
    s.view.pool = Cells{302 + 3 * s.policy.growth.value()};
    EXPECT_EQ(admits(s), "admit 2 in 1, attach 2 in 2");
    s.view.pool -= Cells{1};
    EXPECT_EQ(admits(s), "");
}

TEST(Admit, AnEmptyPoolTakesAnyPromptThatFitsIt) {
    EXPECT_EQ(Scene("default", 100).idle().waiting(1, 99).text(), "admit 1 in 0, feed 1 99");
    EXPECT_EQ(Scene("watermark", 100).idle().waiting(1, 99).text(), "admit 1 in 0, feed 1 99");
}

TEST(Admit, WatermarkLetsInOnlyUpToLow) {
    EXPECT_EQ(admits(Scene("watermark").decoding(1, 600).idle().waiting(2, 199)), "admit 2 in 1");
    EXPECT_EQ(admits(Scene("watermark").decoding(1, 600).idle().waiting(2, 200)), "");
}

TEST(Admit, SharedCacheStaysAndTheRestGoes) {
    Scene s = Scene("priority").idle(80, 1).waiting(1, 100, [](sched::Waiting& w) { w.keep = Tokens{60}; });
    EXPECT_EQ(s.text(), "admit 1 in 0 keep 60, feed 1 40");
    s.decoding(2, 300).view.pool = Cells{401};
    EXPECT_EQ(s.text(), "admit 1 in 0 keep 60, feed 2 1, feed 1 40") << "the shared cells count once";
}

TEST(Admit, OtherIdleCachesMakeRoom) {
    Scene s = Scene("priority", 301).decoding(1, 200).idle(0, 3).idle(70, 1).waiting(2, 100);
    EXPECT_EQ(s.text(), "evict 2, admit 2 in 1, feed 1 1, feed 2 64");
}

TEST(Admit, HeadOfTheQueueFirstAndNobodyPastIt) {
    EXPECT_EQ(admits(Scene("default", 400).decoding(1, 200).idle().idle().waiting(2, 300).waiting(3, 20)),
              "");
    EXPECT_EQ(admits(Scene("default", 400).decoding(1, 200).idle().idle().waiting(2, 20).waiting(3, 20)),
              "admit 2 in 1, admit 3 in 2");
}

TEST(Admit, F6_NobodyGoesBeforeAParkedOneThatIsAsImportant) {
    Scene s = Scene("default", 400).decoding(1, 200).parked(2, 300).idle();
    EXPECT_EQ(admits(Scene(s).waiting(3, 20)), "");
    EXPECT_EQ(admits(Scene(s).waiting(3, 20, priority(1))), "admit 3 in 2") << "a more important one may";
    s.view.parked[0].held = true;
    EXPECT_EQ(admits(Scene(s).waiting(3, 20)), "admit 3 in 2") << "a client keeps it away";
}

TEST(Admit, NotInAStepThatParks) {
    EXPECT_EQ(admits(Scene("swap", 299).decoding(1, 200).decoding(2, 100).idle().waiting(3, 5)),
              "park 2 swap kv_full");
}

// Only where priorities count do they open the door.
TEST(Admit, ThePublishedDesignsLetTheParkedComeBackFirst) {
    Scene s = Scene("swap", 400).decoding(1, 200).parked(2, 150).idle().waiting(3, 100, priority(9));
    EXPECT_EQ(text_of(s.plan(), "resume admit"), "resume 2 in 1");
}

TEST(Admit, AMoreImportantOneGoesBeforeTheParked) {
    Scene s = Scene("default", 400).decoding(1, 200).parked(2, 150).idle().waiting(3, 100, priority(9));
    EXPECT_EQ(text_of(s.plan(), "resume admit"), "admit 3 in 2");
    s.view.pool = Cells{600};
    EXPECT_EQ(text_of(s.plan(), "resume admit"), "admit 3 in 2, resume 2 in 1")
        << "and these into what is left";
}

// ---- P1.6: every slot is taken

Scene both_slots_taken(const char* preset = "default") {
    return Scene(preset).decoding(1, 200, priority(1)).decoding(2, 100);
}

TEST(Admit, P1_6_TheLowestResidentGivesUpItsSlot) {
    EXPECT_EQ(admits(both_slots_taken().waiting(3, 50, priority(2))),
              "park 2 swap priority and its slot, admit 3 in 1");
}

TEST(Admit, P1_6_EqualPriorityNeverDisplaces) {
    EXPECT_EQ(admits(both_slots_taken().waiting(3, 50)), "");
    EXPECT_EQ(admits(Scene("default")
                         .decoding(1, 200, priority(5))
                         .decoding(2, 100, priority(5))
                         .waiting(3, 50, priority(5))),
              "");
}

TEST(Admit, P1_6_EffectivePriorityCounts) {
    EXPECT_EQ(admits(both_slots_taken().waiting(3, 50, [](sched::Waiting& w) { w.passes = 3; })),
              "park 2 swap priority and its slot, admit 3 in 1")
        << "three that came later were let in before it";
    Scene s = both_slots_taken().waiting(3, 50, priority(1));
    s.view.residents[1].parks = 3;
    EXPECT_EQ(admits(s), "") << "three parks lift the other one";
}

TEST(Admit, P1_6_OnlyInPresetsThatHaveIt) {
    for (const char* preset : {"swap", "recompute", "hybrid", "watermark", "priority"}) {
        EXPECT_EQ(admits(both_slots_taken(preset).waiting(3, 50, priority(9))), "") << preset;
    }
}

TEST(Admit, P1_6_AParkedOneGivesUpItsSlotBeforeAResident) {
    Scene s = both_slots_taken().parked(4, 900).waiting(3, 50, priority(2));
    EXPECT_EQ(admits(s), "yield 4, admit 3 in 2");
    s.view.parked[0].priority = 2;
    EXPECT_EQ(admits(s), "") << "one as important goes first (F6)";
}

// A slot without cells would only mean to be parked at once.
TEST(Admit, P1_6_OnlyWhereItsPromptFits) {
    Scene s = Scene("default", 1048).decoding(1, 600, priority(9)).decoding(2, 100);
    ASSERT_EQ(s.policy.growth, Tokens{16}) << "of three";
    EXPECT_EQ(admits(Scene(s).waiting(3, 399, priority(5))),
              "park 2 swap priority and its slot, admit 3 in 1");
    EXPECT_EQ(admits(Scene(s).waiting(3, 400, priority(5))), "");
    EXPECT_EQ(admits(Scene(s).parked(4, 300).waiting(3, 700, priority(5))), "") << "nor from a parked one";
}

TEST(Admit, P1_6_TheSurvivorYieldsToAHigherPriorityOnly) {
    Scene s = Scene("default").decoding(1, 200).parked(2, 900, ParkMode::swap, priority(-9));
    s.view.survivor = TaskId{1};
    s.view.parked[0].slot = kNoSlot;
    EXPECT_EQ(admits(Scene(s).waiting(3, 50, [](sched::Waiting& w) { w.passes = 30; })), "")
        << "it only waited for long";
    EXPECT_EQ(admits(Scene(s).waiting(3, 50, priority(1))),
              "park 1 swap priority and its slot, admit 3 in 0");
}

TEST(Admit, P1_6_FamiliesAreNotDisplaced) {
    const auto family = [](sched::Resident& r) { r.family = true; };
    EXPECT_EQ(admits(Scene("default").decoding(1, 200, family).waiting(3, 50, priority(9))), "");
}

// F27: a sequence that a client keeps away holds up nobody.
TEST(Admit, F27_AHeldOneGivesItsSlotToAnybody) {
    const auto held = [](sched::Parked& p) { p.held = true; };
    for (const char* preset : {"swap", "priority", "default"}) {
        EXPECT_EQ(admits(Scene(preset).parked(1, 100, ParkMode::swap, held).waiting(2, 50)),
                  "yield 1, admit 2 in 0")
            << preset;
    }
}

TEST(Admit, AFamilyNeedsAllItsSlotsAtOnce) {
    const auto three = [](sched::Waiting& w) { w.n_slots = 3; };
    EXPECT_EQ(admits(Scene("default").decoding(1, 50).idle(0, 9).idle(0, 5).waiting(2, 50, three)), "");
    EXPECT_EQ(
        text_of(
            Scene("default").decoding(1, 50).idle(0, 9).idle(0, 5).idle(40, 3).waiting(2, 50, three).plan(),
            "evict admit attach"),
        "admit 2 in 1, evict 3, attach 2 in 3, attach 2 in 2");
    EXPECT_EQ(admits(Scene("default")
                         .parked(1, 50, ParkMode::swap, [](sched::Parked& p) { p.held = true; })
                         .idle()
                         .idle()
                         .waiting(2, 50, three)),
              "admit 2 in 1, attach 2 in 2, yield 1, attach 2 in 0")
        << "F27";
}

}  // namespace
}  // namespace kvalet::test
