// The engine on libllama, without text: the same small requests on a model of each kind of memory.
#include "engine/llama_backend.h"

#include <cstdlib>
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "support/argmax_generation.h"

namespace kvalet::test {
namespace {

constexpr const char* kKinds[] = {"llama", "llama-q4_1", "swa", "mamba", "hybrid"};

std::string model_path(const std::string& kind) {
    const char* dir = std::getenv("KVALET_TEST_TINY_DIR");
    return std::string(dir != nullptr ? dir : "") + "/tiny-" + kind + ".gguf";
}

engine::LlamaOptions options_for(const std::string& kind, std::uint32_t n_ctx) {
    engine::LlamaOptions o;
    o.model_path = model_path(kind);
    o.n_ctx = n_ctx;
    o.n_slots = 4;
    o.n_threads = 1;
    return o;
}

struct Outcome {
    std::vector<Token> tokens;
    std::optional<engine::Finished> finished;
    std::optional<Error> failed;
};

struct Outcomes {
    std::vector<Outcome> outcomes;
    engine::Snapshot last;
};

/// Runs n requests of one size together to their ends.
Outcomes run(const std::string& kind, std::uint32_t n_ctx, engine::EngineConfig config, std::int32_t n,
             std::int64_t n_prompt, std::int64_t n_predict) {
    auto backend = engine::LlamaBackend::load(options_for(kind, n_ctx));
    EXPECT_TRUE(backend.ok()) << (backend.ok() ? "" : backend.error().message);
    if (!backend) {
        return {};
    }
    const SteadyClock clock;
    engine::Engine engine(std::move(config), **backend, clock, nullptr);
    std::vector<std::shared_ptr<engine::Outbox>> outboxes;
    for (std::int32_t k = 0; k < n; ++k) {
        engine::Request r;
        for (std::int64_t i = 0; i < n_prompt; ++i) {
            r.prompt.push_back(static_cast<Token>(3 + (i * 5 + k * 11) % 200));
        }
        r.generation = std::make_unique<ArgmaxGeneration>(n_predict);
        r.outbox = outboxes.emplace_back(std::make_shared<engine::Outbox>());
        EXPECT_TRUE(engine.submit(std::move(r)).ok());
    }
    Outcomes result;
    result.outcomes.resize(static_cast<std::size_t>(n));
    bool more = true;
    while (more) {
        more = engine.step();
        for (std::size_t k = 0; k < outboxes.size(); ++k) {
            while (auto event = outboxes[k]->try_pop()) {
                if (auto* t = std::get_if<engine::TokenOut>(&*event)) {
                    result.outcomes[k].tokens.push_back(t->piece.token);
                } else if (auto* f = std::get_if<engine::Finished>(&*event)) {
                    result.outcomes[k].finished = *f;
                } else if (auto* e = std::get_if<engine::Failed>(&*event)) {
                    result.outcomes[k].failed = e->error;
                }
            }
        }
    }
    result.last = *engine.snapshot();
    return result;
}

engine::EngineConfig config_of(const char* preset, std::int64_t every = 0) {
    engine::EngineConfig c;
    c.policy = sched::preset(preset).value();
    c.preempt_every = every;
    return c;
}

class EachMemory : public testing::TestWithParam<const char*> {};

// P9.1: swap, alone on the server: the same tokens wherever the parks fall.
TEST_P(EachMemory, ForcedSwapsChangeNoToken) {
    const Outcomes plain = run(GetParam(), 1024, config_of("swap"), 1, 70, 150);
    ASSERT_EQ(plain.outcomes[0].tokens.size(), 150U);
    for (const std::int64_t every : {1, 7, 64}) {
        const Outcomes forced = run(GetParam(), 1024, config_of("swap", every), 1, 70, 150);
        EXPECT_EQ(forced.outcomes[0].tokens, plain.outcomes[0].tokens) << "every " << every;
        EXPECT_EQ(forced.last.counters.n_preempt_swap_total, static_cast<std::uint64_t>(149 / every));
        EXPECT_EQ(forced.last.counters.n_restore_failed_total, 0U);
        EXPECT_EQ(forced.last.parked_bytes.value(), 0);
    }
}

TEST_P(EachMemory, ForcedRecomputesLoseNoToken) {
    const Outcomes forced = run(GetParam(), 1024, config_of("recompute", 10), 1, 70, 100);
    ASSERT_TRUE(forced.outcomes[0].finished.has_value());
    EXPECT_EQ(forced.outcomes[0].tokens.size(), 100U);
    EXPECT_EQ(forced.last.counters.n_preempt_recompute_total, 9U);
    EXPECT_EQ(forced.outcomes[0].finished->timings.prompt_n.value(), 70);
}

// F1, F2 on each kind of memory: four that do not fit together all finish, and the ledger was right all the
// time.
TEST_P(EachMemory, FourThatDoNotFitAllFinish) {
    for (const char* preset : {"swap", "recompute", "watermark", "default"}) {
        const Outcomes four = run(GetParam(), 512, config_of(preset), 4, 64, 300);
        for (const Outcome& o : four.outcomes) {
            EXPECT_FALSE(o.failed.has_value()) << (o.failed ? o.failed->message : "");
            EXPECT_EQ(o.tokens.size(), 300U) << preset;
        }
        EXPECT_EQ(four.last.counters.n_kv_full_total, 0U) << preset;
        EXPECT_EQ(four.last.counters.n_restore_failed_total, 0U) << preset;
        if (std::string(GetParam()) != "mamba") {  // a recurrent memory is never full
            EXPECT_GT(four.last.counters.n_preempt_total, 0U) << preset;
        }
    }
}

// P4.6: each of four may grow to n_ctx - 1.
TEST_P(EachMemory, EachOfFourMayFillThePool) {
    const Outcomes four = run(GetParam(), 256, config_of("default"), 4, 40, 1000);
    for (const Outcome& o : four.outcomes) {
        ASSERT_TRUE(o.finished.has_value()) << (o.failed ? o.failed->message : "");
        EXPECT_EQ(o.finished->n_cached_now.value(), 255);
        EXPECT_TRUE(o.finished->truncated);
    }
}

INSTANTIATE_TEST_SUITE_P(Memories, EachMemory, testing::ValuesIn(kKinds));

TEST(LlamaBackend, SaysWhatIsWrong) {
    auto o = options_for("llama", 512);
    o.model_path = "/nowhere/model.gguf";
    EXPECT_NE(engine::LlamaBackend::load(o).error().message.find("--model"), std::string::npos);
    o = options_for("llama", 512);
    o.n_slots = 100000;
    EXPECT_NE(engine::LlamaBackend::load(o).error().message.find("--parallel"), std::string::npos);
    o = options_for("llama", 512);
    o.cache_type_k = "q9";
    EXPECT_NE(engine::LlamaBackend::load(o).error().message.find("--cache-type-k"), std::string::npos);
    o = options_for("llama", 512);
    o.devices = {"NoSuchDevice"};
    EXPECT_NE(engine::LlamaBackend::load(o).error().message.find("--device"), std::string::npos);
}

TEST(LlamaBackend, TheEstimateOfASnapshotIsItsSize) {
    auto backend = engine::LlamaBackend::load(options_for("llama", 512));
    ASSERT_TRUE(backend.ok());
    std::vector<engine::BatchEntry> entries;
    for (std::int32_t i = 0; i < 100; ++i) {
        entries.push_back({static_cast<Token>(5 + i), i, SlotId{2}, i == 99});
    }
    ASSERT_EQ((*backend)->decode(entries), engine::DecodeStatus::ok);
    const engine::BackendCaps& caps = (*backend)->caps();
    EXPECT_EQ((*backend)->snapshot_size(SlotId{2}).value(),
              caps.snapshot_fixed.value() + 100 * caps.snapshot_per_token.value());
}

// The measure of snapshots at the start feeds no more than a batch either.
TEST(LlamaBackend, TheEstimateDoesNotDependOnTheBatchSize) {
    for (const std::uint32_t n : {1U, 3U, 8U}) {
        auto o = options_for("llama", 512);
        o.n_batch = o.n_ubatch = n;
        auto small = engine::LlamaBackend::load(o);
        auto large = engine::LlamaBackend::load(options_for("llama", 512));
        ASSERT_TRUE(small.ok() && large.ok());
        EXPECT_EQ((*small)->caps().n_batch.value(), n);
        EXPECT_EQ((*small)->caps().snapshot_fixed, (*large)->caps().snapshot_fixed);
        EXPECT_EQ((*small)->caps().snapshot_per_token, (*large)->caps().snapshot_per_token);
    }
}

}  // namespace
}  // namespace kvalet::test
