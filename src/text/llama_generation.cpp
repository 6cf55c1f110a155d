#include "text/llama_generation.h"

#include <algorithm>
#include <utility>

#include "text/llama_model_info.h"
#include "text/select.h"

namespace kvalet::text {

namespace {

/// The n largest of the row, falling; equals in the order of their ids where there are too many for top_k_of.
std::vector<Candidate> largest(std::span<const float> logits, std::size_t n) {
    std::vector<Candidate> top;
    if (n <= kMaxSelect) {
        top_k_of(logits, n, top);
        return top;
    }
    n = std::min(n, logits.size());
    for (std::size_t i = 0; i < logits.size(); ++i) {
        top.push_back({static_cast<Token>(i), logits[i]});
    }
    std::partial_sort(top.begin(), top.begin() + static_cast<std::ptrdiff_t>(n), top.end(),
                      [](const Candidate& a, const Candidate& b) {
                          return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
                      });
    top.resize(n);
    return top;
}

}  // namespace

LlamaGeneration::LlamaGeneration(const llama_vocab& vocab, std::unique_ptr<Sampler> sampler,
                                 const SamplingParams& sampling, StopParams stop, bool special)
    : vocab_(vocab),
      sampler_(std::move(sampler)),
      output_(std::move(stop)),
      n_probs_(static_cast<std::size_t>(std::max(sampling.n_probs, 0))),
      is_post_sampling_(sampling.post_sampling_probs),
      special_(special) {}

void LlamaGeneration::begin(std::span<const Token> prompt) {
    sampler_->accept_prompt(prompt);
}

Piece LlamaGeneration::next(std::span<const float> logits, const StepFacts& facts) {
    const Sampler::Pick pick = sampler_->pick(logits);
    Piece piece;
    piece.token = pick.token;
    if (n_probs_ > 0) {
        piece.probs.push_back(is_post_sampling_ ? probs_after_sampling(pick.token)
                                                : probs_of(pick.token, logits));
    }
    const bool is_eog = pick.is_dead_end || llama_vocab_is_eog(&vocab_, pick.token);
    const std::string bytes = is_eog && !special_ ? "" : token_piece(vocab_, pick.token, special_);
    output_.push(bytes, is_eog, facts, piece);
    return piece;
}

TokenProb LlamaGeneration::prob(Token token, float p) const {
    return {token, token_piece(vocab_, token, special_), p};
}

TokenProbs LlamaGeneration::probs_of(Token chosen, std::span<const float> logits) const {
    const double sum = log_sum_exp(logits);
    TokenProbs probs{prob(chosen, log_prob(logits[static_cast<std::size_t>(chosen)], sum)), {}};
    for (const Candidate& c : largest(logits, n_probs_)) {
        probs.top.push_back(prob(c.token, log_prob(c.logit, sum)));
    }
    return probs;
}

TokenProbs LlamaGeneration::probs_after_sampling(Token chosen) const {
    const std::span<const llama_token_data> all = sampler_->candidates();
    std::vector<llama_token_data> top(std::min(n_probs_, all.size()));
    std::partial_sort_copy(all.begin(), all.end(), top.begin(), top.end(),
                           [](const llama_token_data& a, const llama_token_data& b) { return a.p > b.p; });
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const llama_token_data& d) { return d.id == chosen; });
    TokenProbs probs{prob(chosen, found == all.end() ? 0.0F : found->p), {}};
    for (const llama_token_data& d : top) {
        if (d.p > 0.0F) {  // llama-server leaves out what has no probability
            probs.top.push_back(prob(d.id, d.p));
        }
    }
    return probs;
}

}  // namespace kvalet::text
