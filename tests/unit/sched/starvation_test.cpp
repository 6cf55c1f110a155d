// Nobody waits for ever: plans followed from arrival to end in a world of counts, with the bounds stated.
#include <algorithm>
#include <gtest/gtest.h>

#include "unit/sched/random_view.h"
#include "unit/sched/world.h"

namespace kvalet::test {
namespace {

class Starvation : public testing::TestWithParam<std::string_view> {
  protected:
    sched::Policy policy() const { return sched::preset(GetParam()).value(); }
};

/// With budgets that swap all, some and none.
sched::Policy some_budget(sched::Policy p, Choices& c) {
    if (p.budget_bytes > 0) {
        p.budget_bytes = c.below(3) * 20'000;
    }
    return p;
}

// P10, F5, F12. Whatever is asked at once ends, nobody by the plan's word, and pressure costs a bounded
// number of steps: each step computes at least a token that is not a replay, or it parks, or brings back, or
// replays; together these take no more than three times the steps that the tokens alone would take one by
// one.
TEST_P(Starvation, EverythingEndsWithinThreeTimesItsTokens) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        Choices c(seed);
        const std::int64_t pool = c.between(64, 400);
        World w(some_budget(policy(), c), pool, static_cast<std::int32_t>(c.between(2, 8)));
        std::int64_t tokens = 0;
        for (std::int64_t i = c.between(2, 24); i > 0; --i) {
            const std::int64_t n_prompt = c.between(1, pool - 1);
            const std::int64_t n_predict = c.between(1, 200);
            tokens += n_prompt + std::min(n_predict, pool - n_prompt);
            w.ask(n_prompt, n_predict, static_cast<std::int32_t>(c.one_in(4) ? c.below(4) : 0));
        }
        while (w.step()) {
            ASSERT_LE(w.steps(), 3 * tokens) << "seed " << seed;
        }
        ASSERT_EQ(w.wrong, "") << "seed " << seed;
        ASSERT_TRUE(w.alive().empty()) << "seed " << seed;
        for (const auto& [task, b] : w.ended()) {
            ASSERT_FALSE(b.cut) << "seed " << seed << " task " << task << " was cut short";
            ASSERT_LE(b.parks, b.n_predict + 3) << "seed " << seed << " task " << task;
        }
    }
}

// Equal priorities and a queue that never runs dry: whoever comes ends after those before it, and a parked
// one waits no longer than all that run and were parked before it need: the tokens of as many requests as
// there are slots, three times as in the test above.
TEST_P(Starvation, NobodyWaitsBehindAnEndlessQueue) {
    constexpr std::int64_t kPool = 300;
    constexpr std::int64_t kMost = 200;  // tokens of one request at most
    constexpr std::int32_t kSlots = 4;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        Choices c(seed);
        World w(some_budget(policy(), c), kPool, kSlots);
        while (w.steps() < 20'000) {
            while (w.n_waiting() < 2) {
                w.ask(c.between(1, 100), c.between(1, 100));
            }
            ASSERT_TRUE(w.step());
        }
        ASSERT_EQ(w.wrong, "") << "seed " << seed;
        for (const auto* list : {&w.alive(), &w.ended()}) {
            for (const auto& [task, b] : *list) {
                const std::int64_t until = b.state == Being::State::ended ? b.went : w.steps();
                ASSERT_LE(b.longest_park, 3 * kSlots * kMost) << "seed " << seed << " task " << task;
                ASSERT_LE(until - b.came, 3 * (kSlots + 2) * kMost) << "seed " << seed << " task " << task;
            }
        }
    }
}

// P0, P10. An endless stream of more important ones: each that is let in before a humble one lifts it, three
// by one step; after 3 * (gap + 1) of them it is above all that come, and each takes 3 * kMost steps at most.
TEST_P(Starvation, AHumbleOneRisesUnderAnEndlessStreamOfMoreImportantOnes) {
    constexpr std::int64_t kMost = 80;
    for (const std::int32_t gap : {1, 3, 10}) {
        for (const std::int32_t n_slots : {1, 2, 4}) {
            World w(policy(), 150, n_slots);
            const std::uint64_t humble = w.ask(40, 40, 0);
            const std::int64_t bound = (3 * (gap + 1) + n_slots + 1) * 3 * kMost;
            while (w[humble].state != Being::State::ended) {
                while (w.n_waiting() < 2) {
                    w.ask(40, 40, gap);
                }
                ASSERT_TRUE(w.step());
                ASSERT_LE(w.steps(), bound) << "gap " << gap << " slots " << n_slots;
            }
            ASSERT_EQ(w.wrong, "");
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Presets, Starvation, testing::ValuesIn(sched::kPresets),
                         [](const auto& p) { return std::string(p.param); });

// P2.3, F28. Ours: the longest park is bounded by what the others still have to do, also for a large one
// among many small ones.
TEST(StarvationOfTheLarge, F28_OursBringsItBackInTheOrderOfParking) {
    World w(sched::preset("default").value(), 300, 8);
    const std::uint64_t large = w.ask(150, 140);
    for (int i = 0; i < 12; ++i) {
        w.ask(20, 60);
    }
    while (w.step()) {
        ASSERT_LT(w.steps(), 20'000);
        if (w.steps() < 4'000 && w.n_waiting() < 2) {
            w.ask(20, 60);  // small ones come and come
        }
    }
    ASSERT_EQ(w.wrong, "");
    EXPECT_LE(w[large].longest_park, 8 * 80) << "eight others, 80 tokens each";
}

}  // namespace
}  // namespace kvalet::test
