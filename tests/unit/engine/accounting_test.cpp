// P6.3 in virtual time: wherever a park falls, in the prompt or after it, what the client and the counters of
// prompt work say is to the microsecond what they say without.
#include <gtest/gtest.h>

#include "unit/engine/harness.h"

namespace kvalet::test {
namespace {

constexpr Micros kParkedUs = 5'000'000;

engine::FakeOptions paced() {
    engine::FakeOptions o;
    o.n_ubatch = 16;
    o.costs.decode_us = 1000;
    o.costs.decode_row_us = 200;
    o.costs.prompt_token_us = 100;
    o.costs.copy_fixed_us = 700;
    return o;
}

struct Account {
    engine::Finished end;
    engine::Counters total;
};

/// One request whose first 48 tokens may lie in its slot's cache; parked after each of the steps named, and
/// each time for a while.
Account run(const char* preset, bool cached, const std::vector<int>& park_after) {
    Harness h(paced(), config_of(preset));
    if (cached) {
        h.ask({.n_prompt = 48, .n_predict = 1});
        h.run();
    }
    h.ask({.n_prompt = 100, .n_predict = 20});
    int n_steps = 0;
    for (const int at : park_after) {
        for (; n_steps < at; ++n_steps) {
            h.step();
        }
        h.engine().park_request(cached ? "id-1" : "id-0", [](const auto& r) { EXPECT_TRUE(r.ok()); });
        h.run();
        h.clock.advance_us(kParkedUs);
        h.engine().unpark_request(cached ? "id-1" : "id-0", [](const auto& r) { EXPECT_TRUE(r.ok()); });
    }
    h.run();
    h.expect_all_exact();
    EXPECT_EQ(h.parks.size(), park_after.size());
    return {*h.clients.back()->finished, h.snapshot().counters};
}

class Accounting : public testing::TestWithParam<std::tuple<const char*, bool>> {
  protected:
    void expect_same(const std::vector<int>& park_after) const {
        const auto [preset, cached] = GetParam();
        const Account plain = run(preset, cached, {});
        const Account parked = run(preset, cached, park_after);
        const engine::Timings& a = plain.end.timings;
        const engine::Timings& b = parked.end.timings;
        EXPECT_EQ(b.prompt_n, a.prompt_n);
        EXPECT_EQ(b.cache_n, a.cache_n);
        EXPECT_EQ(b.cache_n.value(), cached ? 48 : 0);
        EXPECT_EQ((b.prompt_n + b.cache_n).value(), 100);
        EXPECT_DOUBLE_EQ(b.prompt_ms, a.prompt_ms);
        EXPECT_EQ(b.predicted_n, a.predicted_n);
        EXPECT_EQ(parked.total.prompt_tokens_total, plain.total.prompt_tokens_total);
        EXPECT_EQ(parked.total.prompt_tokens_cached_total, plain.total.prompt_tokens_cached_total);
        EXPECT_DOUBLE_EQ(parked.total.prompt_seconds_total, plain.total.prompt_seconds_total);
        EXPECT_EQ(parked.total.tokens_predicted_total, plain.total.tokens_predicted_total);
        EXPECT_EQ(parked.total.n_tokens_max, plain.total.n_tokens_max);
        const bool replays = std::string_view(preset) == "recompute";
        EXPECT_EQ(parked.total.n_recompute_tokens_total > 0, replays);
    }
};

TEST_P(Accounting, P6_3_OneParkAnywhere) {
    for (int step = 1; step <= 20; ++step) {
        SCOPED_TRACE("parked after step " + std::to_string(step));
        expect_same({step});
    }
}

TEST_P(Accounting, P6_3_ParksInThePromptAndInTheGeneration) {
    for (int first = 1; first <= 4; ++first) {
        SCOPED_TRACE("first parked after step " + std::to_string(first));
        expect_same({first, first + 1, 12, 13});
    }
}

INSTANTIATE_TEST_SUITE_P(Presets, Accounting,
                         testing::Combine(testing::Values("swap", "recompute"), testing::Bool()));

}  // namespace
}  // namespace kvalet::test
