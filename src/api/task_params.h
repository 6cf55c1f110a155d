// One completion request, parsed: what its body said, with the defaults of the command line filled in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/config.h"
#include "core/ids.h"
#include "text/params.h"

namespace kvalet::api {

/// Which client talks to us; decides names, shapes and the end of a stream.
enum class Dialect : std::uint8_t {
    native,          // /completion, /completions (llama-server-api 1.6)
    oai_completion,  // /v1/completions (1.7)
    oai_chat,        // /chat/completions, /v1/chat/completions (1.7)
};

/// The fields of llama-server-api 1.5.
struct TaskParams {
    text::SamplingParams sampling;
    text::StopParams stop;
    bool stream = false;
    bool include_usage = false;
    bool verbose = false;
    bool timings_per_token = false;
    bool return_tokens = false;
    bool return_progress = false;
    bool cache_prompt = true;
    int sse_ping_interval_s = 30;  // -1: off
    SseNotices sse_notices = SseNotices::comments;
    SlotId slot = kNoSlot;
    std::int32_t n_cmpl = 1;  // generations of each prompt
    std::int32_t priority = 0;
    std::int64_t n_keep = 0;     // for a context shift, which is not there yet; shown in generation_settings
    std::int64_t n_discard = 0;  // likewise
    std::string reasoning_format = "none";
    std::vector<std::string> response_fields;  // native only; empty: all
};

/// A request for one or several generations: n_cmpl for each prompt. Their indexes count through the first
/// prompt's, then through the second's.
struct CompletionJob {
    Dialect dialect = Dialect::native;
    TaskParams params;
    std::vector<std::vector<Token>> prompts;  // at least one, none of them empty
};

/// Which of its prompt's generations the one with this index is: 0 for the parent, then its children.
[[nodiscard]] inline int child_of(const TaskParams& params, int index) {
    return index % params.n_cmpl;
}

/// The seed of the generation with this index: child i has seed + i, and a random seed is drawn by each for
/// itself (llama-server-api 1.5). The one number that means "random" is skipped, so that what is to be
/// repeated can be.
[[nodiscard]] inline std::uint32_t seed_of(const TaskParams& params, int index) {
    const std::uint32_t seed = params.sampling.seed;
    if (seed == text::kRandomSeed) {
        return seed;
    }
    return static_cast<std::uint32_t>((std::uint64_t{seed} + static_cast<unsigned>(child_of(params, index))) %
                                      text::kRandomSeed);
}

}  // namespace kvalet::api
