// The simplest generation: the most likely token, n of them, no text machinery.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "text/generation.h"

namespace kvalet::test {

class ArgmaxGeneration final : public text::Generation {
  public:
    /// n_predict -1: until the context is full.
    explicit ArgmaxGeneration(std::int64_t n_predict) : n_predict_(n_predict) {}

    void begin(std::span<const Token>) override {}

    text::Piece next(std::span<const float> logits, const text::StepFacts& facts) override {
        text::Piece piece;
        piece.token = static_cast<Token>(std::max_element(logits.begin(), logits.end()) - logits.begin());
        piece.text = std::to_string(piece.token) + " ";
        ++n_decoded_;
        if (facts.context_full) {
            piece.stop = text::StopType::limit;
            piece.truncated = true;
        } else if (n_predict_ >= 0 && n_decoded_ >= n_predict_) {
            piece.stop = text::StopType::limit;
        }
        return piece;
    }

    [[nodiscard]] bool has_new_line() const override { return false; }

  private:
    std::int64_t n_predict_;
    std::int64_t n_decoded_ = 0;
};

}  // namespace kvalet::test
