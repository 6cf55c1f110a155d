// Preemption while nothing is parked, measured where servers differ by chance: one process, one model in one
// memory, and engines with and without preemption that take turns on it, one short chat each. The third
// engine is without it too: what it shows against the second is the error of the measurement.
//
//   bench_idle MODEL ROUNDS TOKENS   prints a line a round: microseconds per token with, without, without
//   again
#include <array>
#include <charconv>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>

#include "core/assert.h"
#include "engine/engine.h"
#include "engine/llama_backend.h"
#include "support/argmax_generation.h"

namespace {

namespace engine = kvalet::engine;

constexpr std::array kWithPreemption = {true, false, false};
constexpr std::int32_t kPromptTokens = 100;

std::optional<std::int32_t> number(std::string_view text) {
    std::int32_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    return error == std::errc{} && end == text.data() + text.size() && n > 1 ? std::optional(n)
                                                                             : std::nullopt;
}

engine::Request chat(std::int32_t round, std::int32_t n_tokens, std::shared_ptr<engine::Outbox> outbox) {
    engine::Request r;
    for (std::int32_t i = 0; i < kPromptTokens; ++i) {
        r.prompt.push_back(100 + (i * 37 + round * 101) % 20'000);
    }
    r.generation = std::make_unique<kvalet::test::ArgmaxGeneration>(n_tokens);
    r.outbox = std::move(outbox);
    return r;
}

/// From its first token to its last, an event read between two steps.
double micros_per_token(engine::Backend& backend, bool preempt, std::int32_t round, std::int32_t n_tokens) {
    const kvalet::SteadyClock clock;
    engine::EngineConfig config;
    config.policy = kvalet::sched::preset("default").value();
    config.policy.preempt = preempt;
    engine::Engine engine(config, backend, clock, nullptr);
    const auto outbox = std::make_shared<engine::Outbox>();
    const auto task = engine.submit(chat(round, n_tokens, outbox));
    KVALET_ASSERT(task.ok(), "the chat fits");
    std::optional<engine::Finished> end;
    while (!end) {
        engine.step();
        while (const auto event = outbox->try_pop()) {
            if (const auto* finished = std::get_if<engine::Finished>(&*event)) {
                end = *finished;
            }
        }
    }
    KVALET_ASSERT(end->n_decoded.value() == n_tokens, "the chat came to its end");
    for (std::int32_t slot = 0; slot < backend.caps().n_slots; ++slot) {
        backend.clear(kvalet::SlotId{slot});
    }
    return end->timings.predicted_ms * 1000 / (n_tokens - 1);
}

}  // namespace

int main(int argc, char** argv) {
    const auto rounds = argc == 4 ? number(argv[2]) : std::nullopt;
    const auto n_tokens = argc == 4 ? number(argv[3]) : std::nullopt;
    if (!rounds || !n_tokens) {
        std::cerr << "bench_idle MODEL ROUNDS TOKENS: both numbers larger than 1\n";
        return 2;
    }
    engine::LlamaOptions options;
    options.model_path = argv[1];
    options.n_ctx = 8192;
    const auto backend = engine::LlamaBackend::load(options);
    if (!backend) {
        std::cerr << backend.error().message << '\n';
        return 1;
    }
    for (const bool preempt : kWithPreemption) {
        micros_per_token(**backend, preempt, 0, *n_tokens);
    }
    for (std::int32_t round = 1; round <= *rounds; ++round) {
        std::array<double, kWithPreemption.size()> found{};
        for (std::size_t turn = 0; turn < found.size(); ++turn) {
            const std::size_t i =
                (turn + static_cast<std::size_t>(round)) % found.size();  // nobody is always first
            found[i] = micros_per_token(**backend, kWithPreemption[i], round, *n_tokens);
        }
        std::cout << found[0] << ' ' << found[1] << ' ' << found[2] << std::endl;
    }
    return 0;
}
