#include "sim/spread.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

#include "sim/random.h"

namespace kvalet::test {
namespace {

TEST(Spread, OfNothingIsZero) {
    const sim::Spread s;
    EXPECT_EQ(s.percentile(50), 0);
    EXPECT_EQ(s.largest(), 0);
}

TEST(Spread, SmallValuesAreExact) {
    sim::Spread s;
    for (std::int64_t v = 1; v <= 60; ++v) {
        s.add(v);
    }
    EXPECT_EQ(s.percentile(50), 30);
    EXPECT_EQ(s.percentile(100), 60);
    EXPECT_EQ(s.count(), 60);
}

TEST(Spread, LargeValuesAreWithinAPercentAndAHalf) {
    sim::Random random(3);
    sim::Spread s;
    std::vector<std::int64_t> all;
    for (int i = 0; i < 20'000; ++i) {
        all.push_back(random.octaves(1, 1'000'000'000));
        s.add(all.back());
    }
    std::sort(all.begin(), all.end());
    for (const int pct : {1, 50, 90, 99}) {
        const std::int64_t exact = all[all.size() * static_cast<std::size_t>(pct) / 100 - 1];
        EXPECT_GE(s.percentile(pct), exact) << pct;
        EXPECT_LE(s.percentile(pct), exact + exact / 63 + 1) << pct;
    }
    EXPECT_EQ(s.largest(), all.back());
}

}  // namespace
}  // namespace kvalet::test
