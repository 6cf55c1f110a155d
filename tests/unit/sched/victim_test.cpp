// P2: who is parked. In each row the pool is one cell too small, so that exactly one has to go.
#include <gtest/gtest.h>

#include "unit/sched/scene.h"

namespace kvalet::test {
namespace {

struct Who {
    std::uint64_t task;
    std::int64_t length;
    std::int32_t priority = 0;
    std::int32_t parks = 0;
    std::int64_t run = 1000;
    bool family = false;
};

struct Row {
    const char* preset;
    const char* rule;
    std::vector<Who> residents;
    std::uint64_t victim;  // 0: nobody can be parked
};

Scene scene_of(const Row& row) {
    Scene s(row.preset);
    Cells cells{0};
    for (const Who& w : row.residents) {
        s.decoding(w.task, w.length, [&w](sched::Resident& r) {
            r.priority = w.priority;
            r.parks = w.parks;
            r.run = Tokens{w.run};
            r.family = w.family;
        });
        cells += Cells{w.length};
    }
    s.view.pool = cells - Cells{1};
    return s;
}

// A name so short that no table is without it.
const std::vector<Row> kRows = {
    {"swap", "P2.1 smallest: fewest tokens", {{1, 50}, {2, 30}, {3, 40}}, 2},
    {"swap", "P2.1 smallest: never the leader", {{1, 50}, {2, 60}}, 1},
    {"swap", "P2.1 smallest: of equals the newest", {{1, 50}, {3, 30}, {2, 30}}, 3},
    {"swap", "P2.1 smallest: of equal leaders the oldest leads", {{2, 50}, {1, 50}}, 2},
    {"swap", "priorities do not count", {{1, 50, 10}, {2, 30, 10}, {3, 40, 0}}, 2},
    {"swap", "P2.2 the starved is passed over", {{1, 50}, {2, 30, 0, 3}, {3, 40, 0, 2}}, 3},
    {"swap", "P2.2 unless there is no other", {{1, 50}, {2, 30, 0, 3}}, 2},
    {"swap", "P2.2 of two starved the smaller", {{1, 50}, {2, 30, 0, 9}, {3, 40, 0, 3}}, 2},
    {"swap", "P2.2 families are no candidates", {{1, 50}, {2, 30, 0, 0, 99, true}, {3, 40}}, 3},
    {"swap", "rather the leader than that a family ends early", {{1, 50}, {2, 30, 0, 0, 99, true}}, 1},
    {"swap", "P2.2 families alone: nobody", {{1, 50, 0, 0, 99, true}, {2, 30, 0, 0, 99, true}}, 0},
    {"watermark", "P2.1 newest: newest task", {{1, 50}, {4, 30}, {3, 20}}, 4},
    {"watermark", "P2.1 newest: never the largest", {{1, 50}, {4, 80}, {3, 20}}, 3},
    {"watermark", "P2.2 the starved is passed over", {{1, 50}, {4, 30, 0, 3}, {3, 20}}, 3},
    {"priority",
     "P2.1 priority: the lowest tier, whatever its length",
     {{1, 50, 0}, {2, 30, 5}, {3, 20, 7}},
     1},
    {"priority", "P2.1 priority: within it the longest last", {{1, 20, 0}, {2, 50, 0}, {3, 90, 9}}, 1},
    {"priority", "P2.1 priority: within it the newest", {{1, 20, 0}, {3, 30, 0}, {2, 50, 0}, {4, 90, 9}}, 3},
    {"priority", "P0 three parks are one step of priority", {{1, 50, 0, 3}, {2, 30, 1}, {3, 90, 9}}, 2},
    {"priority", "P0 promotion lifts it out of the lowest tier", {{1, 50, 0, 3}, {2, 30, 0}, {3, 90, 9}}, 2},
    {"priority", "P2.3 the survivor: highest tier, longest", {{1, 20, 9}, {2, 90, 9}}, 1},
    {"priority", "P2.3 the survivor though it is the newest", {{1, 20}, {2, 90}}, 1},
    {"priority",
     "rather the survivor than that a family ends early",
     {{1, 90, 9}, {2, 30, 0, 0, 99, true}},
     1},
    {"priority", "P4.3 min-run is 0 in the published designs", {{1, 90}, {2, 30}, {3, 20, 0, 1, 0}}, 3},
    {"default", "P4.3 one that is just back runs 32 tokens", {{1, 90}, {2, 30}, {3, 20, 0, 1, 31}}, 2},
    {"default", "P4.3 and then is a candidate again", {{1, 90}, {2, 30}, {3, 20, 0, 1, 32}}, 3},
    {"default", "P4.3 unless nothing else can be parked", {{1, 90}, {3, 20, 0, 1, 0}}, 3},
    {"default",
     "equal priorities: never the longest, fewest tokens",
     {{1, 40}, {2, 90}, {3, 60}, {4, 50}},
     1},
};

class Victim : public testing::TestWithParam<Row> {};

TEST_P(Victim, IsTheOneThatTheRuleNames) {
    const Row& row = GetParam();
    const std::string parks = scene_of(row).parks();
    const std::string start = "park " + std::to_string(row.victim) + " ";
    EXPECT_EQ(row.victim == 0, parks.empty()) << row.rule << ": " << parks;
    EXPECT_TRUE(row.victim == 0 || parks.starts_with(start)) << row.rule << ": " << parks;
    EXPECT_EQ(parks.find(','), std::string::npos) << row.rule << ", P2.4: one is enough: " << parks;
}

// P2.5: the order in which the slots stand decides nothing.
TEST_P(Victim, P2_5_IsTheSameInWhateverSlotsTheyAre) {
    Row row = GetParam();
    const std::string parks = scene_of(row).parks();
    for (std::size_t i = 1; i < row.residents.size(); ++i) {
        std::rotate(row.residents.begin(), row.residents.begin() + 1, row.residents.end());
        EXPECT_EQ(scene_of(row).parks(), parks) << row.rule;
    }
}

INSTANTIATE_TEST_SUITE_P(Rules, Victim, testing::ValuesIn(kRows));

TEST(Victims, P2_2_OneInAReplayIsPassedOver) {
    EXPECT_EQ(Scene("swap", 249).decoding(1, 100).replaying(2, 60, 20).decoding(3, 90).parks(),
              "park 3 swap kv_full");
    EXPECT_EQ(Scene("swap", 159).decoding(1, 100).replaying(2, 60, 20).parks(), "park 2 swap kv_full");
}

TEST(Victims, P2_2_OneInItsPromptIsACandidate) {
    EXPECT_EQ(Scene("swap", 181).decoding(1, 100).decoding(2, 60).prefilling(3, 80, 20).parks(),
              "park 2 swap kv_full")
        << "60 tokens are fewer than 80";
    EXPECT_EQ(Scene("swap", 170).decoding(1, 100).decoding(2, 60).prefilling(3, 50, 20).parks(),
              "park 3 swap kv_full");
}

// P2.3: once chosen it stays, though another became longer or rose by promotion.
TEST(Victims, P2_3_TheSurvivorRunsToItsEnd) {
    Scene s("priority", 169);
    s.decoding(1, 60).decoding(2, 110);
    EXPECT_EQ(s.parks(), "park 1 swap kv_full");
    s.view.survivor = TaskId{1};
    EXPECT_EQ(s.parks(), "park 2 swap kv_full");
    EXPECT_EQ(s.plan().survivor, TaskId{1});
    s.view.residents[1].parks = 9;
    EXPECT_EQ(s.parks(), "park 2 swap kv_full") << "promoted, but of no higher priority of its own";
    s.view.residents[1].priority = 1;
    EXPECT_EQ(s.parks(), "park 1 swap kv_full") << "it yields to a higher priority";
}

TEST(Victims, P2_3_ThereIsASurvivorWhilePressureLastsAndNoLonger) {
    Scene s("priority");
    s.decoding(1, 60).decoding(2, 110);
    EXPECT_FALSE(s.plan().survivor.has_value());
    s.parked(3, 900);
    EXPECT_EQ(s.plan().survivor, TaskId{2});
    s.view.survivor = TaskId{1};
    EXPECT_EQ(s.plan().survivor, TaskId{1});
    s.view.parked.clear();
    EXPECT_FALSE(s.plan().survivor.has_value());
}

// P2.4: the smallest first, until it fits; then whoever became needless is spared.
TEST(Victims, P2_4_TheSetIsMinimal) {
    Scene s("swap", 1000);
    s.decoding(1, 500).decoding(2, 20).decoding(3, 30).decoding(4, 200);
    const auto parks = [&s](std::int64_t pool) {
        s.view.pool = Cells{pool};
        return s.parks();
    };
    EXPECT_EQ(parks(749), "park 2 swap kv_full");
    EXPECT_EQ(parks(730), "park 2 swap kv_full");
    EXPECT_EQ(parks(720), "park 3 swap kv_full") << "20 cells are not enough, 30 are, and both are too many";
    EXPECT_EQ(parks(700), "park 2 swap kv_full, park 3 swap kv_full");
    EXPECT_EQ(parks(699), "park 4 swap kv_full") << "the large one makes the small ones needless";
}

}  // namespace
}  // namespace kvalet::test
