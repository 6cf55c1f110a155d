// Choosing among a row of logits without touching each candidate: what makes sampling cheap. Pure, std only.
//
// Tie rule: exactly that of libllama's samplers, so that the same seed gives the same token. The maximum is
// the first of equals. The top k are what std::partial_sort by falling logit makes of the row: which of
// equals stay at the boundary, and their order, are the heap's choice, and the same heap makes it here.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/ids.h"

namespace kvalet::text {

struct Candidate {
    Token token = 0;
    float logit = 0.0F;
};

struct Best {
    Candidate candidate;
    bool tied = false;  // another token has the same logit
};

/// libllama sorts so many with std::partial_sort; above it buckets first, which breaks ties another way.
constexpr std::size_t kMaxSelect = 128;

/// The largest logit of a non-empty row. NaN never wins, except at token 0, as in libllama.
[[nodiscard]] Best best_of(std::span<const float> logits);

/// The k largest, falling; 1 <= k <= kMaxSelect, fewer when the row is shorter. Reuses `out`.
void top_k_of(std::span<const float> logits, std::size_t k, std::vector<Candidate>& out);

/// log(sum(exp(logit))) over the row: a logit minus it is the token's log-probability.
[[nodiscard]] double log_sum_exp(std::span<const float> logits);

/// The log-probability that llama-server reports: -FLT_MAX where the probability is 0 as a float.
[[nodiscard]] float log_prob(float logit, double row_log_sum_exp);

}  // namespace kvalet::text
