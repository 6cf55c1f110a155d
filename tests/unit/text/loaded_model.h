// The default model, loaded once for all tests of a binary.
#pragma once

#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "text/llama_text_model.h"

namespace kvalet::text {

/// KVALET_TEST_MODEL; a test that needs it fails without.
class ModelTest : public testing::Test {
  protected:
    void SetUp() override;

    /// Another text model on the same weights.
    [[nodiscard]] static std::unique_ptr<TextModel> make_model(LlamaTextOptions options = {});

    [[nodiscard]] std::vector<Token> tokens(const std::string& text, bool parse_special = true) const;
    [[nodiscard]] std::vector<float> random_row() const;
    /// A row in which `token` is far above all others.
    [[nodiscard]] std::vector<float> row_for(Token token) const;
    [[nodiscard]] std::unique_ptr<Generation> generation(const SamplingParams& sampling,
                                                         const StopParams& stop = {}) const;
    /// The message of the error that make_generation() gives.
    [[nodiscard]] std::string refusal(const SamplingParams& sampling, const StopParams& stop = {}) const;

    std::unique_ptr<TextModel> model_;
    mutable std::mt19937 rng_{42};
};

}  // namespace kvalet::text
