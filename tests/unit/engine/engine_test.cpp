// The engine on the fake backend: every text is compared with what the request would have got alone.
#include "engine/engine.h"

#include <gtest/gtest.h>
#include <tuple>

#include "unit/engine/harness.h"

namespace kvalet::test {
namespace {

engine::FakeOptions pool_of(std::int64_t cells, std::int32_t slots = 4) {
    engine::FakeOptions o;
    o.pool = cells;
    o.n_slots = slots;
    return o;
}

TEST(Engine, OneRequestGetsItsTokens) {
    Harness h(pool_of(512), config_of("default"));
    const Client& c = h.ask({.n_prompt = 100, .n_predict = 50});
    h.run();
    EXPECT_EQ(c.tokens.size(), 50U);
    EXPECT_EQ(c.finished->stop, text::StopType::limit);
    EXPECT_FALSE(c.finished->truncated);
    EXPECT_EQ(c.finished->n_cached_now.value(), 149);
    h.expect_all_exact();
}

// F1: four chats that do not fit all finish; each text equals its solo text.
class EveryPreset : public testing::TestWithParam<std::tuple<const char*, std::int64_t>> {};

TEST_P(EveryPreset, FourChatsThatDoNotFitAllFinish) {
    const auto [preset, pool] = GetParam();
    Harness h(pool_of(pool), config_of(preset));
    for (Token salt = 1; salt <= 4; ++salt) {
        h.ask({.n_prompt = 64, .n_predict = 300, .salt = salt});
    }
    h.run();
    h.expect_all_exact();
    for (const auto& c : h.clients) {
        EXPECT_EQ(c->tokens.size(), 300U);
    }
    EXPECT_GT(h.parks.size(), 0U);
    EXPECT_EQ(h.snapshot().counters.n_kv_full_total, 0U) << "F2";
    EXPECT_LT(h.parks.size(), 100U) << "F5: parks stay bounded";
}

INSTANTIATE_TEST_SUITE_P(Presets, EveryPreset,
                         testing::Combine(testing::Values("swap", "recompute", "hybrid", "watermark",
                                                          "priority", "default"),
                                          testing::Values(512, 768)));

// P4.6: each of four may grow to n_ctx - 1.
TEST_P(EveryPreset, EachOfFourMayFillThePool) {
    Harness h(pool_of(256), config_of(std::get<0>(GetParam())));
    for (Token salt = 1; salt <= 4; ++salt) {
        h.ask({.n_prompt = 40, .n_predict = 2000, .salt = salt});
    }
    h.run();
    h.expect_all_exact();
    for (const auto& c : h.clients) {
        EXPECT_EQ(c->finished->n_cached_now.value(), 255);
        EXPECT_EQ(c->finished->stop, text::StopType::limit);
        EXPECT_TRUE(c->finished->truncated);
    }
}

// P1.4, P9.1, F10: a park at every place.
TEST(Engine, ForcedParksAtEveryTokenChangeNothing) {
    for (const char* preset : {"swap", "recompute"}) {
        for (const std::int64_t every : {1, 7, 64}) {
            engine::EngineConfig config = config_of(preset);
            config.preempt_every = every;
            Harness h(pool_of(512), config);
            h.ask({.n_prompt = 70, .n_predict = 200});
            h.run();
            h.expect_all_exact();
            EXPECT_EQ(static_cast<std::int64_t>(h.parks.size()), 199 / every) << preset << " every " << every;
            EXPECT_EQ(h.clients[0]->notices.size(), 2 * h.parks.size());
        }
    }
}

// P6.3: what the client reads is as if nothing had happened.
TEST(Engine, ReplaysLeaveNoTraceInTheClientsCounts) {
    for (const char* preset : {"swap", "recompute"}) {
        engine::EngineConfig config = config_of(preset);
        config.preempt_every = 5;
        engine::FakeOptions options = pool_of(512);
        options.costs.decode_us = 1000;
        options.costs.prompt_token_us = 100;
        Harness plain(options, config_of(preset));
        Harness forced(options, config);
        plain.ask({.n_prompt = 150, .n_predict = 40});
        forced.ask({.n_prompt = 150, .n_predict = 40});
        plain.run();
        forced.run();
        const engine::Timings a = plain.clients[0]->finished->timings;
        const engine::Timings b = forced.clients[0]->finished->timings;
        EXPECT_EQ(a.prompt_n, b.prompt_n);
        EXPECT_EQ(a.cache_n, b.cache_n);
        // Three steps of 64, 64 and 22 prompt tokens.
        EXPECT_DOUBLE_EQ(a.prompt_ms, 3 * 1.0 + 150 * 0.1);
        EXPECT_DOUBLE_EQ(a.prompt_ms, b.prompt_ms);
        EXPECT_EQ(plain.snapshot().counters.prompt_tokens_total,
                  forced.snapshot().counters.prompt_tokens_total);
    }
}

// P1.1: a long prompt does not stall the tokens of others.
TEST(Engine, ALongPromptIsFedInChunksWhileOthersDecode) {
    engine::FakeOptions options = pool_of(4096);
    options.n_batch = 2048;
    options.n_ubatch = 512;
    engine::EngineConfig config = config_of("default");
    Harness h(options, config);
    Client& talker = h.ask({.n_prompt = 8, .n_predict = 400, .salt = 1});
    while (talker.tokens.size() < 10) {
        h.step();
    }
    Client& reader = h.ask({.n_prompt = 2000, .n_predict = 4, .salt = 2});
    std::size_t before = talker.tokens.size();
    while (reader.tokens.empty()) {
        h.step();
        EXPECT_EQ(talker.tokens.size(), before + 1) << "each step brings the talker a token";
        before = talker.tokens.size();
    }
    h.run();
    h.expect_all_exact();
}

TEST(Engine, APromptThatDoesNotFitIsRefusedAtOnce) {
    Harness h(pool_of(256), config_of("default"));
    const auto refused = h.try_ask({.n_prompt = 256});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, ErrorKind::exceed_context_size);
    EXPECT_EQ(refused.error().n_prompt_tokens, 256);
    EXPECT_EQ(refused.error().n_ctx, 256);
    h.ask({.n_prompt = 255, .n_predict = 10});
    h.run();
    EXPECT_EQ(h.clients[0]->tokens.size(), 1U);
    EXPECT_TRUE(h.clients[0]->finished->truncated);
}

TEST(Engine, TheQueueHasALimit) {
    engine::EngineConfig config = config_of("default");
    config.queue_max = 2;
    Harness h(pool_of(512, 1), config);
    h.ask({.salt = 1});
    h.ask({.salt = 2});
    h.ask({.salt = 3});
    const auto refused = h.try_ask({.salt = 4});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, ErrorKind::too_many_requests);
    EXPECT_GT(refused.error().retry_after_s, 0);
    h.run();
    h.expect_all_exact();
    h.ask({.salt = 5});
    h.run();
    h.expect_all_exact();
}

TEST(Engine, ASharedPromptIsTakenFromTheSlotThatHasIt) {
    Harness h(pool_of(1024), config_of("default"));
    h.ask({.n_prompt = 100, .n_predict = 4, .salt = 1});
    h.run();
    h.ask({.n_prompt = 100, .n_predict = 4, .salt = 2});
    h.run();
    const Client& again = h.ask({.n_prompt = 100, .n_predict = 4, .salt = 1});
    const Client& without = h.ask({.n_prompt = 100, .n_predict = 4, .salt = 2, .cache_prompt = false});
    h.run();
    h.expect_all_exact();
    EXPECT_EQ(again.finished->timings.cache_n.value(), 99) << "one token is always computed";
    EXPECT_EQ(again.finished->slot, h.clients[0]->finished->slot);
    EXPECT_EQ(without.finished->timings.cache_n.value(), 0);
}

// P1.3: nobody is parked while an idle slot's cache would do.
TEST(Engine, IdleCachesAreGivenUpBeforeAnybodyIsParked) {
    Harness h(pool_of(512), config_of("swap"));
    for (Token salt = 1; salt <= 3; ++salt) {
        h.ask({.n_prompt = 100, .n_predict = 20, .salt = salt});
        h.run();
    }
    EXPECT_GT(h.snapshot().used_idle.value(), 300);
    h.ask({.n_prompt = 100, .n_predict = 300, .salt = 9});
    h.run();
    h.expect_all_exact();
    EXPECT_EQ(h.parks.size(), 0U);
}

// P3.1, P3.5: a budget between the sizes mixes both ways, and is never exceeded.
TEST(Engine, ABudgetOfOneMiBMixesSwapAndRecompute) {
    engine::FakeOptions options = pool_of(512);
    options.bytes_per_token = 8192;
    engine::EngineConfig config = config_of("hybrid");
    config.policy.budget_bytes = sched::kMiB;
    Harness h(options, config);
    for (Token salt = 1; salt <= 4; ++salt) {
        h.ask({.n_prompt = 64, .n_predict = 300, .salt = salt});
    }
    h.run();
    h.expect_all_exact();
    const engine::Snapshot s = h.snapshot();
    EXPECT_GT(s.counters.n_preempt_swap_total, 0U);
    EXPECT_GT(s.counters.n_preempt_recompute_total, 0U);
    EXPECT_GT(s.counters.n_recompute_tokens_total, 0U);
    EXPECT_LE(s.parked_bytes_max.value(), sched::kMiB);
    EXPECT_GT(s.parked_bytes_max.value(), 0);
}

// llama-server-api 3.10: with preemption off they fail as on llama-server.
TEST(Engine, WithoutPreemptionEverybodyFailsWhenThePoolIsFull) {
    engine::EngineConfig config = config_of("default");
    config.policy.preempt = false;
    Harness h(pool_of(512), config);
    for (Token salt = 1; salt <= 4; ++salt) {
        h.ask({.n_prompt = 64, .n_predict = 300, .salt = salt});
    }
    h.run();
    for (const auto& c : h.clients) {
        ASSERT_TRUE(c->failed.has_value());
        EXPECT_EQ(c->failed->message, "Context size has been exceeded.");
        EXPECT_EQ(c->failed->kind, ErrorKind::server);
    }
    EXPECT_EQ(h.backend.cells_used(), 0);
}

TEST(Engine, SplitModeGivesEachSlotItsOwnCells) {
    engine::FakeOptions options = pool_of(1024);
    options.unified = false;
    Harness h(options, config_of("default"));
    for (Token salt = 1; salt <= 5; ++salt) {
        h.ask({.n_prompt = 40, .n_predict = 1000, .salt = salt});
    }
    h.run();
    h.expect_all_exact();
    EXPECT_EQ(h.parks.size(), 0U);
    for (const auto& c : h.clients) {
        EXPECT_EQ(c->finished->n_cached_now.value(), 255);
    }
}

// P8.5: waiting, in the prompt, parked, generating.
TEST(Engine, ACancelledRequestLeavesNothingBehind) {
    for (int place = 0; place < 4; ++place) {
        engine::EngineConfig config = config_of("default");
        Harness h(pool_of(512), config);
        Client& other = h.ask({.n_prompt = 30, .n_predict = 60, .salt = 1});
        Client& gone = h.ask({.n_prompt = 200, .n_predict = 200, .salt = 2});
        std::int64_t steps = place == 0 ? 0 : place == 1 ? 1 : 20;
        while (steps-- > 0) {
            h.step();
        }
        if (place == 3) {
            bool replied = false;
            h.engine().park_request("id-1", [&replied](Result<engine::ParkReply> r) {
                replied = true;
                EXPECT_TRUE(r.ok());
            });
            h.step();
            EXPECT_TRUE(replied);
            EXPECT_EQ(h.snapshot().n_preempted, 1U);
        }
        h.engine().cancel(gone.task);
        h.run();
        EXPECT_FALSE(gone.finished || gone.failed);
        EXPECT_EQ(other.tokens, h.alone(other.prompt, 60));
        const engine::Snapshot s = h.snapshot();
        EXPECT_EQ(s.parked_bytes.value(), 0);
        EXPECT_EQ(s.n_processing + s.n_preempted + s.n_deferred, 0U);
        EXPECT_EQ(s.used, s.used_idle);
    }
}

// Back-pressure: who does not read is not decoded further; others go on.
TEST(Engine, ASlowReaderHoldsUpNobodyElse) {
    Harness h(pool_of(2048), config_of("default"));
    Client& slow = h.ask({.n_prompt = 8, .n_predict = 600, .salt = 1});
    Client& quick = h.ask({.n_prompt = 8, .n_predict = 600, .salt = 2});
    slow.reads = false;
    h.run();
    EXPECT_EQ(quick.tokens.size(), 600U);
    EXPECT_FALSE(slow.finished.has_value());
    slow.reads = true;
    h.read_all();
    EXPECT_GE(slow.tokens.size(), engine::Outbox::kDefaultCapacity - 2);
    EXPECT_LE(slow.tokens.size(), engine::Outbox::kDefaultCapacity);
    h.run();
    h.expect_all_exact();
}

// One that nobody reads makes way for those who wait, and loses nothing.
TEST(Engine, ASlowReaderIsParkedForOthersAndComesBackWhenItIsRead) {
    for (const char* preset : {"swap", "recompute", "watermark", "priority", "default"}) {
        engine::FakeOptions options = pool_of(700);
        options.n_slots = 2;
        Harness h(options, config_of(preset));
        Client& slow = h.ask({.n_prompt = 8, .n_predict = 500, .salt = 1});
        slow.reads = false;
        h.run();
        EXPECT_TRUE(h.parks.empty()) << "nobody waits";
        for (Token salt = 2; salt < 6; ++salt) {
            h.ask({.n_prompt = 200, .n_predict = 300, .salt = salt});
        }
        h.run();
        for (std::size_t i = 1; i < h.clients.size(); ++i) {
            EXPECT_TRUE(h.clients[i]->finished.has_value()) << preset;
        }
        ASSERT_FALSE(h.parks.empty());
        EXPECT_EQ(h.parks.front().reason, sched::ParkReason::slow_reader);
        EXPECT_EQ(h.snapshot().n_preempted, 1U) << "held until it is read";
        slow.reads = true;
        h.read_all();
        h.run();
        h.expect_all_exact();
    }
}

// A reader that takes one token now and then is not brought back for each of them.
TEST(Engine, ASlowReaderComesBackWhenHalfOfItsTokensAreRead) {
    engine::FakeOptions options = pool_of(700);
    options.n_slots = 2;
    Harness h(options, config_of("default"));
    Client& slow = h.ask({.n_prompt = 8, .n_predict = 500, .salt = 1});
    slow.reads = false;
    h.run();
    h.ask({.n_prompt = 300, .n_predict = 300, .salt = 2});
    h.ask({.n_prompt = 300, .n_predict = 300, .salt = 3});
    h.ask({.n_prompt = 300, .n_predict = 300, .salt = 4});
    h.run();
    ASSERT_EQ(h.parks.size(), 1U + static_cast<std::size_t>(h.snapshot().counters.n_resume_total));
    const std::size_t resumes = h.resumes.size();
    for (std::size_t i = 0; i < engine::Outbox::kDefaultCapacity / 2 - 2; ++i) {
        ASSERT_TRUE(slow.outbox->try_pop().has_value());
        h.run();
        ASSERT_EQ(h.resumes.size(), resumes) << i;
    }
    for (int i = 0; i < 5; ++i) {
        (void)slow.outbox->try_pop();
    }
    h.run();
    EXPECT_EQ(h.resumes.size(), resumes + 1);
}

TEST(Engine, DrainRefusesNewWorkAndFinishesTheRest) {
    // Nobody reads while it runs: less than an outbox holds.
    Harness h(pool_of(300), config_of("default"));
    h.ask({.n_prompt = 64, .n_predict = 200, .salt = 1});
    h.ask({.n_prompt = 64, .n_predict = 200, .salt = 2});
    h.step();
    h.engine().drain();
    const auto refused = h.try_ask({});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, ErrorKind::unavailable);
    h.engine().run();
    h.read_all();
    h.expect_all_exact();
}

TEST(Engine, StopEndsEveryStreamWithAnError) {
    Harness h(pool_of(512), config_of("default"));
    h.ask({.n_prompt = 64, .n_predict = 300, .salt = 1});
    h.step();
    h.ask({.n_prompt = 64, .n_predict = 300, .salt = 2});
    h.engine().stop();
    h.engine().run();
    h.read_all();
    for (const auto& c : h.clients) {
        ASSERT_TRUE(c->failed.has_value());
        EXPECT_EQ(c->failed->kind, ErrorKind::unavailable);
    }
    EXPECT_EQ(h.backend.cells_used(), 0);
}

// A memory that cannot be rewound: a cached prompt is of use only when all of it is a prefix.
TEST(Engine, AMemoryThatCannotBeRewoundStartsAnew) {
    engine::FakeOptions options = pool_of(512);
    options.can_rewind = false;
    Harness h(options, config_of("default"));
    for (int i = 0; i < 2; ++i) {
        h.ask({.n_prompt = 50, .n_predict = 5, .salt = 1});
        h.run();
    }
    h.expect_all_exact();
    EXPECT_EQ(h.clients[1]->finished->timings.cache_n.value(), 0);
}

}  // namespace
}  // namespace kvalet::test
