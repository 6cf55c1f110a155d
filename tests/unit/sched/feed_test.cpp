// Who computes how many tokens.
#include <gtest/gtest.h>

#include "unit/sched/scene.h"

namespace kvalet::test {
namespace {

TEST(Feed, DecodingOnesFirstThenPromptsInSmallChunks) {
    EXPECT_EQ(Scene().prefilling(1, 300, 0).decoding(2, 50).decoding(3, 60).text(),
              "feed 2 1, feed 3 1, feed 1 64");
}

TEST(Feed, WhileNobodyDecodesAPromptGetsTheWholeMicroBatch) {
    EXPECT_EQ(Scene().prefilling(1, 300, 0).text(), "feed 1 128");
    EXPECT_EQ(Scene().prefilling(1, 300, 250).text(), "feed 1 50");
}

TEST(Feed, PromptsAndReplaysShareOneChunkByImportanceThenAge) {
    EXPECT_EQ(Scene().decoding(9, 50).prefilling(2, 40, 10).prefilling(1, 100, 80).replaying(3, 90, 0).text(),
              "feed 9 1, feed 1 20, feed 2 30, feed 3 14");
    const auto important = [](sched::Resident& r) { r.priority = 1; };
    EXPECT_EQ(Scene()
                  .decoding(9, 50)
                  .prefilling(2, 40, 10)
                  .prefilling(1, 100, 80)
                  .replaying(3, 90, 0, important)
                  .text(),
              "feed 9 1, feed 3 64");
}

TEST(Feed, NeverMoreThanABatch) {
    Scene s = Scene().prefilling(1, 300, 0).decoding(2, 50, [](sched::Resident& r) { r.draft = Tokens{7}; });
    s.view.n_batch = Tokens{10};
    EXPECT_EQ(s.text(), "feed 2 8, feed 1 2");
}

TEST(Feed, OneWhoseReaderIsBehindIsLeftOut) {
    const auto blocked = [](sched::Resident& r) { r.blocked = true; };
    EXPECT_EQ(Scene().decoding(1, 50, blocked).decoding(2, 60).prefilling(3, 40, 0, blocked).text(),
              "feed 2 1");
}

TEST(Feed, NotBeyondThePool) {
    Scene s = Scene("swap", 100).prefilling(1, 99, 0);
    s.idle(60, 1);
    EXPECT_EQ(s.text(), "evict 1, feed 1 99");
    EXPECT_EQ(Scene("swap", 100)
                  .prefilling(1, 90, 0)
                  .decoding(2, 50, [](sched::Resident& r) { r.family = true; })
                  .text(),
              "park 1 swap kv_full, feed 2 1")
        << "rather wait than half a chunk";
}

// P4.6, P2.2: only what can be parked in no way can stand still; the least important of it, then the newest,
// ends.
TEST(Feed, P4_6_WhatCannotFitEnds) {
    const auto family = [](sched::Resident& r) { r.family = true; };
    const auto important = [](sched::Resident& r) {
        r.family = true;
        r.priority = 1;
    };
    EXPECT_EQ(Scene("swap", 98).decoding(1, 50, family).decoding(2, 50, family).text(), "finish 2");
    EXPECT_EQ(Scene("swap", 98).decoding(1, 50, family).decoding(2, 50, important).text(), "finish 1");
    EXPECT_EQ(Scene("swap", 99).decoding(1, 50, family).decoding(2, 50, family).text(), "feed 1 1")
        << "not while somebody can go on";
}

TEST(Feed, SplitModeKnowsNoPool) {
    Scene s = Scene("default", 100).decoding(1, 70).prefilling(2, 90, 0);
    s.view.unified = false;
    EXPECT_EQ(s.text(), "feed 1 1, feed 2 64");
}

}  // namespace
}  // namespace kvalet::test
