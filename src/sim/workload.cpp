#include "sim/workload.h"

#include "sim/random.h"

namespace kvalet::sim {

namespace {

constexpr std::int32_t kImportant = 10;
constexpr std::int64_t kTopics = 8;

}  // namespace

Ask ask_of(const WorkloadOptions& o, std::uint64_t k) {
    Random random(o.seed, k);
    Ask a;
    a.n_prompt = random.octaves(o.prompt_low, o.prompt_high);
    a.n_predict = random.octaves(o.predict_low, o.predict_high);
    a.priority = random.percent(o.important_pct) ? kImportant : 0;
    a.leaves_at = random.percent(o.leave_pct) ? random.between(0, a.n_predict - 1) : -1;
    a.held_at = random.percent(o.hold_pct) ? random.between(1, a.n_predict) : -1;
    a.held_us = random.wait(2 * o.think_us);
    a.topic = random.percent(o.topic_pct) ? static_cast<std::uint64_t>(random.between(1, kTopics)) : 0;
    a.thinks_us = random.wait(o.think_us);
    a.dawdles_at = random.percent(o.dawdle_pct) ? random.between(1, a.n_predict) : -1;
    a.dawdles_us = random.wait(4 * o.think_us);
    return a;
}

std::vector<Token> prompt_of(const Ask& ask, std::uint64_t seed, std::uint64_t k, std::int32_t n_vocab) {
    std::vector<Token> tokens;
    tokens.reserve(static_cast<std::size_t>(ask.n_prompt + ask.n_predict));
    Random own(seed ^ 0x5EEDU, k);
    Random shared(seed, ~ask.topic);
    const std::int64_t n_shared = ask.topic == 0 ? 0 : ask.n_prompt / 2;
    for (std::int64_t i = 0; i < ask.n_prompt; ++i) {
        Random& from = i < n_shared ? shared : own;
        tokens.push_back(static_cast<Token>(from.next() % static_cast<std::uint64_t>(n_vocab)));
    }
    return tokens;
}

}  // namespace kvalet::sim
