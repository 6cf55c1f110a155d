#include "text/model_sampling.h"

#include <gtest/gtest.h>

namespace kvalet::text {
namespace {

TEST(ApplyModelSampling, ChangesOnlyWhatTheFileSays) {
    SamplingParams params;
    apply_model_sampling({}, params);
    EXPECT_EQ(params.top_k, SamplingParams().top_k);
    EXPECT_EQ(params.samplers, SamplingParams().samplers);

    ModelSampling model;
    model.top_k = 20;
    model.temperature = 0.6F;
    model.samplers = {"top_k", "temperature"};
    apply_model_sampling(model, params);
    EXPECT_EQ(params.top_k, 20);
    EXPECT_EQ(params.temperature, 0.6F);
    EXPECT_EQ(params.samplers, (std::vector<std::string>{"top_k", "temperature"}));
    EXPECT_EQ(params.top_p, SamplingParams().top_p);
}

}  // namespace
}  // namespace kvalet::text
