// Sampling with libllama's samplers, in llama-server's order (llama-server-api 5): logit bias, the chain, and
// a grammar beside it. Takes the shorter way of SamplerPlan where that gives the same token.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "llama.h"
#include "text/params.h"
#include "text/sampler_plan.h"

namespace kvalet::text {

/// What a sampler has to know of the model.
struct SamplerVocab {
    const llama_vocab* vocab = nullptr;  // only DRY, infill and grammars need it
    std::int32_t n_vocab = 0;
    std::span<const Token> eog;       // end-of-generation tokens
    std::span<const Token> suppress;  // tokens the model file forbids
};

struct SamplerDeleter {
    void operator()(llama_sampler* sampler) const { llama_sampler_free(sampler); }
};
using SamplerHandle = std::unique_ptr<llama_sampler, SamplerDeleter>;

/// One request's sampler. One thread at a time; different samplers side by side.
class Sampler {
  public:
    /// `vocab` and what it points to outlive the sampler. The seed is drawn here if it is kRandomSeed.
    [[nodiscard]] static Result<std::unique_ptr<Sampler>> make(const SamplerVocab& vocab,
                                                               SamplingParams params, std::int32_t n_ctx);

    /// Tells the samplers the prompt; the grammar sees only what is generated.
    void accept_prompt(std::span<const Token> prompt);

    struct Pick {
        Token token = 0;
        /// The grammar (with what else is forbidden) allows no token any more. `token` is then an
        /// end-of-generation token, or token 0 if the model has none; the generation must end with it.
        bool is_dead_end = false;
    };

    /// Chooses a token for one row of n_vocab logits and accepts it.
    [[nodiscard]] Pick pick(std::span<const float> logits);

    /// The candidates that the last pick() chose from, with their probabilities. Valid on the same thread
    /// until the next pick() of any sampler there.
    [[nodiscard]] std::span<const llama_token_data> candidates() const { return candidates_; }

    [[nodiscard]] std::uint32_t seed() const { return params_.seed; }
    [[nodiscard]] const SamplerPlan& plan() const { return plan_; }

  private:
    Sampler(const SamplerVocab& vocab, SamplingParams params, SamplerPlan plan);

    [[nodiscard]] Status make_grammar();
    void make_chains();
    [[nodiscard]] llama_sampler* make_link(SamplerKind kind) const;
    [[nodiscard]] llama_sampler* make_dry() const;
    [[nodiscard]] llama_sampler* make_last() const;
    void collect_biases();

    [[nodiscard]] std::span<const float> adjusted(std::span<const float> logits) const;
    [[nodiscard]] Token sample(std::span<const float> logits);
    [[nodiscard]] bool grammar_allows(Token token) const;
    [[nodiscard]] Pick sample_grammatical(std::span<const float> logits);
    void accept(Pick& pick);
    void remember(Token token);
    [[nodiscard]] Pick dead_end() const;

    SamplerVocab vocab_;
    SamplingParams params_;
    SamplerPlan plan_;
    std::vector<LogitBias> biases_;
    SamplerHandle sparse_;   // nullptr when there is nothing in it
    SamplerHandle chain_;    // the rest and the last
    SamplerHandle grammar_;  // nullptr without one
    bool is_grammar_broken_ = false;
    std::vector<Token> seen_;    // distinct tokens that penalties and dry may know
    std::vector<bool> is_seen_;  // by token; empty when seen_ is not needed
    std::span<const llama_token_data> candidates_;
};

}  // namespace kvalet::text
