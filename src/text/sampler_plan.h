// Which samplers a request needs, in which order, and whether a cheaper way leads to the same token. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/result.h"
#include "text/params.h"

namespace kvalet::text {

enum class SamplerKind : std::uint8_t {
    penalties,
    dry,
    top_n_sigma,
    top_k,
    typ_p,
    top_p,
    min_p,
    xtc,
    temperature,
    infill,
};

/// DRY looks for each of its sequence breakers in the whole vocabulary, some ten milliseconds each.
constexpr std::size_t kMaxDryBreakers = 64;

/// The chain without the samplers that would do nothing, cut where it can be cut.
struct SamplerPlan {
    /// penalties and dry where they come first. They change only the logits of tokens seen before.
    std::vector<SamplerKind> sparse;
    /// The samplers after those.
    std::vector<SamplerKind> rest;
    /// What picks the token at the end.
    enum class Last : std::uint8_t { dist, adaptive_p, mirostat_1, mirostat_2 } last = Last::dist;
    /// The largest logit after `sparse` is the token whatever `rest` and `last` do, unless two are largest.
    bool greedy = false;
    /// > 0: `rest` began with a top_k of so many, which top_k_of() serves; it is not in `rest` any more.
    std::int32_t select_k = 0;
    /// How many of the newest tokens penalties and dry look at; 0: none.
    std::int32_t n_history = 0;
};

/// A sampler by any of the names that llama-server takes ("top_k", "top-k", "topk", "temp", …), upper or
/// lower case; invalid_request "Failed to initialize samplers: …" for an unknown one, or for numbers that no
/// sampler takes. n_ctx (> 0) stands for -1 in repeat_last_n and dry_penalty_last_n and bounds them; both are
/// replaced in `params`.
[[nodiscard]] Result<SamplerPlan> plan_samplers(SamplingParams& params, std::int32_t n_ctx);

}  // namespace kvalet::text
