// A Generation on libllama's samplers.
#pragma once

#include <memory>

#include "llama.h"
#include "text/generation.h"
#include "text/output_text.h"
#include "text/sampler.h"

namespace kvalet::text {

class LlamaGeneration final : public Generation {
  public:
    /// `vocab` outlives the generation.
    LlamaGeneration(const llama_vocab& vocab, std::unique_ptr<Sampler> sampler,
                    const SamplingParams& sampling, StopParams stop, bool special);

    void begin(std::span<const Token> prompt) override;
    Piece next(std::span<const float> logits, const StepFacts& facts) override;
    [[nodiscard]] bool has_new_line() const override { return output_.has_new_line(); }

  private:
    [[nodiscard]] TokenProbs probs_of(Token chosen, std::span<const float> logits) const;
    [[nodiscard]] TokenProbs probs_after_sampling(Token chosen) const;
    [[nodiscard]] TokenProb prob(Token token, float p) const;

    const llama_vocab& vocab_;
    std::unique_ptr<Sampler> sampler_;
    OutputText output_;
    std::size_t n_probs_;
    bool is_post_sampling_;
    bool special_;
};

}  // namespace kvalet::text
