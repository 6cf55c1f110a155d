#include "sim/workload.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "sim/random.h"

namespace kvalet::test {
namespace {

TEST(Workload, TheKthRequestIsAlwaysTheSame) {
    sim::WorkloadOptions o;
    o.seed = 5;
    const sim::Ask a = ask_of(o, 77);
    EXPECT_NE(ask_of(o, 1).held_us, a.held_us);
    const sim::Ask b = ask_of(o, 77);
    EXPECT_EQ(a.n_prompt, b.n_prompt);
    EXPECT_EQ(a.n_predict, b.n_predict);
    EXPECT_EQ(prompt_of(a, 5, 77, 32), prompt_of(b, 5, 77, 32));
    EXPECT_NE(prompt_of(a, 5, 77, 32), prompt_of(a, 6, 77, 32));
}

TEST(Workload, KeepsItsBoundsAndShares) {
    sim::WorkloadOptions o;
    std::int64_t n_important = 0, n_leaving = 0;
    for (std::uint64_t k = 0; k < 10'000; ++k) {
        const sim::Ask a = ask_of(o, k);
        ASSERT_GE(a.n_prompt, o.prompt_low);
        ASSERT_LE(a.n_prompt, o.prompt_high);
        ASSERT_GE(a.n_predict, o.predict_low);
        ASSERT_LE(a.n_predict, o.predict_high);
        ASSERT_LT(a.leaves_at, a.n_predict);
        n_important += a.priority > 0 ? 1 : 0;
        n_leaving += a.leaves_at >= 0 ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(n_important), 500, 100);
    EXPECT_NEAR(static_cast<double>(n_leaving), 200, 60);
}

TEST(Workload, PromptsOfATopicBeginAlike) {
    sim::Ask a, b;
    a.n_prompt = 40;
    b.n_prompt = 60;
    a.topic = b.topic = 3;
    const auto pa = sim::prompt_of(a, 1, 1, 1000);
    const auto pb = sim::prompt_of(b, 1, 2, 1000);
    EXPECT_TRUE(std::equal(pa.begin(), pa.begin() + 20, pb.begin()));
    EXPECT_NE(pa[20], pb[20]);
}

TEST(Random, WaitsAreAboutExponential) {
    sim::Random random(9);
    std::vector<std::int64_t> waits;
    double sum = 0;
    for (int i = 0; i < 100'000; ++i) {
        waits.push_back(random.wait(1000));
        sum += static_cast<double>(waits.back());
    }
    std::sort(waits.begin(), waits.end());
    EXPECT_NEAR(sum / 100'000, 1000, 60);
    EXPECT_NEAR(static_cast<double>(waits[50'000]), 693, 60) << "ln 2";
    EXPECT_GE(waits.front(), 0);
}

}  // namespace
}  // namespace kvalet::test
