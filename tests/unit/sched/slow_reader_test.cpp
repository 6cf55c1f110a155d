// Residents whose readers are behind: they compute nothing, and make way for whoever waits.
#include <gtest/gtest.h>

#include "scene.h"

namespace kvalet::test {
namespace {

using sched::ParkMode;

void blocked(sched::Resident& r) {
    r.blocked = true;
}
void held(sched::Parked& p) {
    p.held = true;
}

TEST(SlowReader, StaysWhileNobodyWaits) {
    EXPECT_EQ(Scene("default").decoding(1, 100, blocked).decoding(2, 100).text(), "feed 2 1");
    EXPECT_EQ(Scene("default").decoding(1, 100, blocked).idle().text(), "");
    EXPECT_EQ(Scene("default").decoding(1, 100, blocked).parked(2, 950, ParkMode::swap, held).text(), "");
}

TEST(SlowReader, MakesWayForOneThatIsParked) {
    for (const char* preset : {"swap", "hybrid", "watermark", "priority", "default"}) {
        EXPECT_EQ(Scene(preset).decoding(1, 500, blocked).parked(2, 600).text(), "park 1 swap slow_reader")
            << preset;
    }
    EXPECT_EQ(Scene("recompute").decoding(1, 500, blocked).parked(2, 600).text(),
              "park 1 recompute slow_reader");
}

TEST(SlowReader, MakesWayForOneThatWaitsForASlotOrForCells) {
    EXPECT_EQ(Scene("default").decoding(1, 500, blocked).waiting(2, 20).text(), "park 1 swap slow_reader");
    EXPECT_EQ(Scene("default").decoding(1, 500, blocked).idle().waiting(2, 600).text(),
              "park 1 swap slow_reader");
    EXPECT_EQ(Scene("default").decoding(1, 500, blocked).idle().waiting(2, 100).parks(), "")
        << "it is let in beside it";
}

// Held as long as it is not read, it does not stand in the way with its slot either.
TEST(SlowReader, ItsSlotIsForThoseWhoWait) {
    EXPECT_EQ(Scene("default").parked(1, 500, ParkMode::swap, held).waiting(2, 20).text(),
              "yield 1, admit 2 in 0, feed 2 20");
}

TEST(SlowReader, OneInAStepTheLeastImportantThenTheLargest) {
    const auto important = [](sched::Resident& r) {
        r.blocked = true;
        r.priority = 1;
    };
    Scene s =
        Scene("default").decoding(1, 100, blocked).decoding(2, 200, blocked).decoding(3, 300, important);
    EXPECT_EQ(s.parked(4, 900).parks(), "park 2 swap slow_reader");
}

TEST(SlowReader, IsTheFirstVictim) {
    for (const char* preset : {"swap", "watermark", "priority", "default"}) {
        Scene s(preset, 301);
        s.decoding(1, 150).decoding(2, 52).decoding(3, 101, blocked).decoding(4, 1);
        EXPECT_EQ(s.parks().find("park 3 swap"), 0U) << preset << ": " << s.parks();
    }
}

TEST(SlowReader, FamiliesStay) {
    const auto family = [](sched::Resident& r) { r.blocked = r.family = true; };
    EXPECT_EQ(Scene("default").decoding(1, 500, family).parked(2, 600).parks(), "");
}

TEST(SlowReader, NotWithPreemptionOff) {
    Scene s = Scene("default").decoding(1, 500, blocked).waiting(2, 20);
    s.policy.preempt = false;
    EXPECT_EQ(s.parks(), "");
}

}  // namespace
}  // namespace kvalet::test
