#include "text/sampler_plan.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>

namespace kvalet::text {
namespace {

using K = SamplerKind;
using Kinds = std::vector<SamplerKind>;

SamplerPlan plan(SamplingParams p) {
    auto made = plan_samplers(p, 4096);
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
    return *made;
}

TEST(SamplerPlan, LeavesOutWhatDoesNothing) {
    const SamplerPlan p = plan({});
    EXPECT_TRUE(p.sparse.empty());
    EXPECT_EQ(p.select_k, 40);
    EXPECT_EQ(p.rest, (Kinds{K::top_p, K::min_p, K::temperature}));
    EXPECT_EQ(p.last, SamplerPlan::Last::dist);
    EXPECT_FALSE(p.greedy);
    EXPECT_EQ(p.n_history, 0);
}

TEST(SamplerPlan, KeepsTheOrderThatWasAskedFor) {
    SamplingParams p;
    p.samplers = {"temperature", "min_p", "top_k"};
    EXPECT_EQ(plan(p).rest, (Kinds{K::temperature, K::min_p, K::top_k}));
    EXPECT_EQ(plan(p).select_k, 0);  // top_k has to see what the others left
}

TEST(SamplerPlan, PenaltiesAndDryInFrontAreSparse) {
    SamplingParams p;
    p.repeat_penalty = 1.1F;
    p.dry_multiplier = 0.8F;
    p.dry_penalty_last_n = 100;
    const SamplerPlan made = plan(p);
    EXPECT_EQ(made.sparse, (Kinds{K::penalties, K::dry}));
    EXPECT_EQ(made.select_k, 40);
    EXPECT_EQ(made.n_history, 100);
    p.samplers = {"top_k", "penalties"};
    EXPECT_TRUE(plan(p).sparse.empty());
    EXPECT_EQ(plan(p).rest, (Kinds{K::penalties}));
    EXPECT_EQ(plan(p).n_history, 64);
}

TEST(SamplerPlan, MinusOneIsTheContextAndNothingIsLonger) {
    SamplingParams p;
    p.presence_penalty = 0.5F;
    p.repeat_last_n = -1;
    EXPECT_EQ(plan(p).n_history, 4096);
    p.repeat_last_n = 2000000000;
    EXPECT_EQ(plan(p).n_history, 4096);
    p.repeat_last_n = 0;
    EXPECT_TRUE(plan(p).sparse.empty());
}

TEST(SamplerPlan, TopNSigmaBeforeTopKKeepsTheWholeRow) {
    SamplingParams p;
    p.top_n_sigma = 1.0F;
    EXPECT_EQ(plan(p).select_k, 0);
    EXPECT_EQ(plan(p).rest, (Kinds{K::top_n_sigma, K::top_k, K::top_p, K::min_p, K::temperature}));
}

TEST(SamplerPlan, ALargeTopKIsLeftToLibllama) {
    SamplingParams p;
    p.top_k = 129;
    EXPECT_EQ(plan(p).select_k, 0);
    p.top_k = 128;
    EXPECT_EQ(plan(p).select_k, 128);
}

TEST(SamplerPlan, TemperatureZeroIsGreedyUnlessASamplerMayDropTheBest) {
    SamplingParams cold;
    cold.temperature = 0.0F;
    EXPECT_TRUE(plan(cold).greedy);
    const auto with = [&](const std::function<void(SamplingParams&)>& change) {
        SamplingParams p = cold;
        change(p);
        return plan(p).greedy;
    };
    EXPECT_TRUE(with([](auto& p) { p.repeat_penalty = 1.1F; }));
    EXPECT_TRUE(with([](auto& p) { p.top_n_sigma = 1.0F; }));
    EXPECT_TRUE(with([](auto& p) { p.top_k = 0; }));
    EXPECT_FALSE(with([](auto& p) { p.typical_p = 0.9F; }));
    EXPECT_FALSE(with([](auto& p) { p.xtc_probability = 0.5F; }));
    EXPECT_FALSE(with([](auto& p) { p.dynatemp_range = 0.5F; }));
    EXPECT_FALSE(with([](auto& p) { p.mirostat = 2; }));
    EXPECT_FALSE(with([](auto& p) { p.samplers = {"top_k"}; }));
    EXPECT_FALSE(with([](auto& p) { p.samplers = {"top_k", "temperature", "adaptive_p"}; }));
    EXPECT_FALSE(with([](auto& p) {
        p.repeat_penalty = 1.1F;
        p.samplers = {"top_k", "penalties", "temperature"};
    }));
}

TEST(SamplerPlan, MirostatStandsForTheChain) {
    SamplingParams p;
    p.mirostat = 1;
    p.repeat_penalty = 1.5F;
    EXPECT_EQ(plan(p).rest, (Kinds{K::temperature}));
    EXPECT_TRUE(plan(p).sparse.empty());
    EXPECT_EQ(plan(p).last, SamplerPlan::Last::mirostat_1);
    p.mirostat = 2;
    EXPECT_EQ(plan(p).last, SamplerPlan::Last::mirostat_2);
}

TEST(SamplerPlan, InfillComesAfterASmallTopK) {
    SamplingParams p;
    p.samplers = {"top_k", "infill"};
    EXPECT_EQ(plan(p).rest, (Kinds{K::infill}));
    const auto is_refused = [&] { return !plan_samplers(p, 4096).ok(); };
    p.samplers = {"infill", "top_k"};
    EXPECT_TRUE(is_refused());
    p.samplers = {"top_k", "infill"};
    p.top_k = 0;
    EXPECT_TRUE(is_refused());
    p.top_k = 1000;
    EXPECT_TRUE(is_refused());
}

TEST(SamplerPlan, KnowsTheNamesThatLlamaServerKnows) {
    SamplingParams p;
    p.typical_p = 0.9F;
    p.samplers = {"top-k", "typ", "Nucleus", "MINP", "temp", "adaptive-p"};
    const SamplerPlan made = plan(p);
    EXPECT_EQ(made.select_k, 40);
    EXPECT_EQ(made.rest, (Kinds{K::typ_p, K::top_p, K::min_p, K::temperature}));
    EXPECT_EQ(made.last, SamplerPlan::Last::adaptive_p);
}

TEST(SamplerPlan, RefusesWhatNoSamplerTakes) {
    const auto refused = [](const std::function<void(SamplingParams&)>& change) {
        SamplingParams p;
        change(p);
        const auto made = plan_samplers(p, 4096);
        return made.ok() ? std::string() : made.error().message;
    };
    const std::string intro = "Failed to initialize samplers: ";
    EXPECT_EQ(refused([](auto& p) { p.repeat_penalty = 0.0F; }),
              intro + "repeat_penalty must be finite and greater than 0");
    EXPECT_NE(refused([](auto& p) { p.repeat_penalty = -1.0F; }), "");
    EXPECT_NE(refused([](auto& p) { p.repeat_penalty = INFINITY; }), "");
    EXPECT_NE(refused([](auto& p) { p.repeat_penalty = 1e-45F; }), "");
    EXPECT_EQ(refused([](auto& p) { p.frequency_penalty = NAN; }),
              intro + "frequency_penalty must be finite");
    EXPECT_EQ(refused([](auto& p) { p.presence_penalty = INFINITY; }),
              intro + "presence_penalty must be finite");
    EXPECT_NE(refused([](auto& p) { p.mirostat = 3; }), "");
    EXPECT_EQ(refused([](auto& p) { p.samplers = {"top_q"}; }), intro + "unknown sampler 'top_q'");
    EXPECT_NE(refused([](auto& p) { p.dry_sequence_breakers.assign(kMaxDryBreakers + 1, "x"); }), "");
}

}  // namespace
}  // namespace kvalet::text
