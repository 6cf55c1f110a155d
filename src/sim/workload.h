// What is asked of the engine: requests drawn from a seed, or written in a scenario file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/ids.h"

namespace kvalet::sim {

/// One request and what its client does later.
struct Ask {
    std::string name;  // of a scenario
    std::int64_t n_prompt = 1;
    std::int64_t n_predict = 1;
    std::int32_t priority = 0;
    std::uint64_t topic = 0;       // prompts of one topic begin with the same tokens; 0: with none of others
    std::int64_t leaves_at = -1;   // the client goes away when it has so many tokens; -1: it stays
    std::int64_t held_at = -1;     // it parks its request when it has so many tokens
    Micros held_us = 0;            // and takes it back after so long
    std::int64_t dawdles_at = -1;  // it stops reading when it has so many tokens
    Micros dawdles_us = 0;         // and reads on after so long
    Micros thinks_us = 0;          // before the next one of the same client
};

/// How requests are drawn. The kth is the same whatever the engine does with the others.
struct WorkloadOptions {
    std::uint64_t seed = 1;
    std::int64_t n_requests = 10'000;
    std::int64_t n_clients = 24;  // each asks, waits for its end, thinks and asks again
    std::int64_t arrivals_per_s =
        0;  // instead: requests come at random times, whatever becomes of the others
    std::int64_t prompt_low = 8, prompt_high = 160;
    std::int64_t predict_low = 8, predict_high = 96;
    Micros think_us = 50'000;  // mean
    int important_pct = 5;     // have priority 10
    int leave_pct = 2;
    int hold_pct = 1;
    int dawdle_pct = 1;
    int topic_pct = 30;
};

[[nodiscard]] Ask ask_of(const WorkloadOptions& options, std::uint64_t k);
/// The tokens of the kth request's prompt. Vocabulary: 0 .. n_vocab-1.
[[nodiscard]] std::vector<Token> prompt_of(const Ask& ask, std::uint64_t seed, std::uint64_t k,
                                           std::int32_t n_vocab);

}  // namespace kvalet::sim
