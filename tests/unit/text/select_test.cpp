#include "text/select.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace kvalet::text {
namespace {

/// Rows as models make them, and rows full of equal values.
std::vector<float> random_row(std::mt19937& rng, std::size_t n, int levels) {
    std::normal_distribution<float> normal(0.0F, 4.0F);
    std::vector<float> row(n);
    for (float& x : row) {
        x = normal(rng);
        if (levels > 0) {
            x = std::round(x * static_cast<float>(levels)) / static_cast<float>(levels);
        }
    }
    return row;
}

std::vector<Candidate> partial_sorted(const std::vector<float>& row, std::size_t k) {
    std::vector<Candidate> all;
    for (std::size_t i = 0; i < row.size(); ++i) {
        all.push_back({static_cast<Token>(i), row[i]});
    }
    k = std::min(k, all.size());
    std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(k), all.end(),
                      [](const Candidate& a, const Candidate& b) { return a.logit > b.logit; });
    all.resize(k);
    return all;
}

TEST(BestOf, IsTheFirstOfTheLargest) {
    std::mt19937 rng(1);
    for (const int levels : {0, 1, 4}) {
        for (const std::size_t n : {1U, 2U, 63U, 64U, 65U, 1000U, 49152U}) {
            const auto row = random_row(rng, n, levels);
            const auto largest = std::max_element(row.begin(), row.end());
            const Best best = best_of(row);
            EXPECT_EQ(best.candidate.token, largest - row.begin());
            EXPECT_EQ(best.candidate.logit, *largest);
            EXPECT_EQ(best.tied, std::count(row.begin(), row.end(), *largest) > 1);
        }
    }
}

TEST(BestOf, SurvivesInfinitiesAndNan) {
    const float inf = std::numeric_limits<float>::infinity();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(best_of(std::vector<float>{-inf, -inf, -3.0F, nan}).candidate.token, 2);
    EXPECT_EQ(best_of(std::vector<float>{-inf, inf, nan}).candidate.token, 1);
    EXPECT_EQ(best_of(std::vector<float>(200, -inf)).candidate.token, 0);
    EXPECT_EQ(best_of(std::vector<float>(200, nan)).candidate.token, 0);
}

TEST(TopKOf, IsWhatAPartialSortMakesOfTheRowTiesIncluded) {
    std::mt19937 rng(2);
    std::vector<Candidate> got;
    for (int round = 0; round < 40; ++round) {
        for (const int levels : {0, 1, 3, 100}) {
            const std::size_t n = round % 4 == 0 ? 1 + rng() % 200 : 200 + rng() % 5000;
            const auto row = random_row(rng, n, levels);
            const std::size_t k = 1 + rng() % kMaxSelect;
            top_k_of(row, k, got);
            const auto want = partial_sorted(row, k);
            ASSERT_EQ(got.size(), want.size());
            for (std::size_t i = 0; i < want.size(); ++i) {
                ASSERT_EQ(got[i].token, want[i].token) << "n " << n << " k " << k << " rank " << i;
                ASSERT_EQ(got[i].logit, want[i].logit);
            }
        }
    }
}

TEST(TopKOf, TakesRowsThatRiseFallOrStandStill) {
    std::vector<float> row(3000);
    std::vector<Candidate> got;
    for (const float slope : {1.0F, -1.0F, 0.0F}) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            row[i] = slope * static_cast<float>(i);
        }
        top_k_of(row, 40, got);
        const auto want = partial_sorted(row, 40);
        for (std::size_t i = 0; i < want.size(); ++i) {
            ASSERT_EQ(got[i].token, want[i].token);
        }
    }
}

TEST(TopKOf, RefusesSizesThatLibllamaSortsAnotherWay) {
    std::vector<Candidate> out;
    EXPECT_DEATH(top_k_of(std::vector<float>(10), kMaxSelect + 1, out), "partially sorts");
    EXPECT_DEATH(top_k_of(std::vector<float>(10), 0, out), "partially sorts");
}

TEST(LogSumExp, MakesProbabilitiesThatSumToOne) {
    std::mt19937 rng(3);
    for (int round = 0; round < 10; ++round) {
        const auto row = random_row(rng, 49152, 0);
        const double sum = log_sum_exp(row);
        double total = 0;
        for (const float x : row) {
            const float p = log_prob(x, sum);
            ASSERT_TRUE(std::isfinite(p));
            ASSERT_LE(p, 0.0F);
            total += std::exp(static_cast<double>(p));
        }
        EXPECT_NEAR(total, 1.0, 1e-5);
    }
}

TEST(LogProb, IsFiniteWhereTheProbabilityIsZero) {
    const std::vector<float> row = {0.0F, -std::numeric_limits<float>::infinity(), -200.0F, -90.0F};
    const double sum = log_sum_exp(row);
    EXPECT_NEAR(log_prob(row[0], sum), 0.0F, 1e-6);
    EXPECT_EQ(log_prob(row[1], sum), -FLT_MAX);
    EXPECT_EQ(log_prob(row[2], sum), -FLT_MAX);
    EXPECT_NEAR(log_prob(row[3], sum), -90.0F, 1e-4);
}

}  // namespace
}  // namespace kvalet::text
