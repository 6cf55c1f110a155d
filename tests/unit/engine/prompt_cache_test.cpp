// --cache-ram: prompts of finished requests leave the pool and come back (llama-server-api 3.2).
#include "engine/prompt_cache.h"

#include <gtest/gtest.h>

#include "sched/policy.h"
#include "unit/engine/harness.h"

namespace kvalet::test {
namespace {

using engine::PromptCache;

void put(PromptCache& cache, std::vector<Token> tokens, std::int64_t bytes) {
    auto buffer = cache.make_room(Bytes{bytes});
    ASSERT_TRUE(buffer.has_value());
    cache.put(std::move(tokens), std::move(*buffer));
}

TEST(PromptCache, TheOldestGoForTheNewest) {
    PromptCache cache(100, {});
    put(cache, {1, 1}, 40);
    put(cache, {2, 2}, 40);
    put(cache, {3, 3}, 50);
    EXPECT_EQ(cache.size(), 2U);
    EXPECT_EQ(cache.held().value(), 90);
    EXPECT_FALSE(cache.best(std::vector<Token>{1, 1}, Tokens{0}).has_value());
    EXPECT_FALSE(cache.make_room(Bytes{101}).has_value());
    EXPECT_EQ(cache.size(), 2U) << "nobody goes for one that fits in no case";
}

TEST(PromptCache, WhatIsContainedInAnotherIsKeptOnce) {
    PromptCache cache(sched::kUnlimited, {});
    put(cache, {1, 2}, 10);
    EXPECT_TRUE(cache.holds(std::vector<Token>{1, 2}));
    EXPECT_FALSE(cache.holds(std::vector<Token>{1, 2, 3}));
    put(cache, {1, 2, 3}, 10);
    EXPECT_EQ(cache.size(), 1U);
    EXPECT_TRUE(cache.holds(std::vector<Token>{1, 2}));
}

TEST(PromptCache, TheBestSharesMostAndMoreThanThereIs) {
    PromptCache cache(sched::kUnlimited, {});
    put(cache, {1, 2, 9}, 10);
    put(cache, {1, 2, 3, 9}, 10);
    put(cache, {7, 7}, 10);
    const std::vector<Token> prompt = {1, 2, 3, 4};
    const auto match = cache.best(prompt, Tokens{2});
    ASSERT_TRUE(match.has_value());
    EXPECT_EQ(match->shared.value(), 3);
    EXPECT_EQ(cache.at(match->index).tokens.back(), 9);
    EXPECT_FALSE(cache.best(prompt, Tokens{3}).has_value());
    put(cache, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}, 10);
    EXPECT_EQ(cache.best(prompt, Tokens{0})->shared.value(), 3) << "four of seventeen are not worth a copy";
}

TEST(PromptCache, ThereAreNeverMoreThanItsLimit) {
    PromptCache cache(sched::kUnlimited, {});
    for (Token i = 0; i < static_cast<Token>(PromptCache::kMaxEntries) + 5; ++i) {
        put(cache, {i}, 1);
    }
    EXPECT_EQ(cache.size(), PromptCache::kMaxEntries);
}

engine::FakeOptions pool_of(std::int64_t cells) {
    engine::FakeOptions o;
    o.pool = cells;
    return o;
}

engine::EngineConfig with_cache(std::int64_t bytes) {
    engine::EngineConfig config = config_of("default");
    config.cache_ram_bytes = bytes;
    return config;
}

constexpr std::int64_t kPlenty = 1 << 20;

std::int64_t n_cached(const Client& c) {
    return c.finished->timings.cache_n.value();
}

// Five chats take turns on four slots: each finds what it left.
TEST(CacheRam, MoreChatsThanSlotsFindWhatTheyLeft) {
    Harness h(pool_of(512), with_cache(kPlenty));
    for (int round = 0; round < 2; ++round) {
        for (Token salt = 1; salt <= 5; ++salt) {
            const Client& c = h.ask({.n_prompt = 60, .n_predict = 4, .salt = salt});
            h.run();
            EXPECT_EQ(n_cached(c), round == 0 ? 0 : 59) << salt;
        }
    }
    h.expect_all_exact();
    EXPECT_GT(h.snapshot().cache_ram_bytes.value(), 0);
    EXPECT_EQ(h.snapshot().parked_bytes.value(), 0) << "it is not counted as parked";
}

TEST(CacheRam, IdleSlotsMakeWayForWhoeverBegins) {
    Harness h(pool_of(512), with_cache(kPlenty));
    h.ask({.n_prompt = 60, .n_predict = 4, .salt = 1});
    h.run();
    EXPECT_EQ(h.snapshot().used_idle.value(), 63);
    h.ask({.n_prompt = 50, .n_predict = 4, .salt = 2});
    h.step();
    EXPECT_EQ(h.snapshot().used_idle.value(), 0);
    EXPECT_EQ(h.snapshot().counters.n_cache_saved_total, 1U);
    h.run();
    h.expect_all_exact();
}

TEST(CacheRam, OnlyForRoomWithoutCacheIdleSlots) {
    engine::EngineConfig config = with_cache(kPlenty);
    config.cache_idle_slots = false;
    Harness h(pool_of(256), config);
    h.ask({.n_prompt = 100, .n_predict = 4, .salt = 1});
    h.run();
    h.ask({.n_prompt = 50, .n_predict = 4, .salt = 2});
    h.run();
    EXPECT_EQ(h.snapshot().counters.n_cache_saved_total, 0U);
    h.ask({.n_prompt = 100, .n_predict = 80, .salt = 3});
    h.run();
    EXPECT_GT(h.snapshot().counters.n_cache_saved_total, 0U) << "evicted for its cells (P1.3)";
    const Client& again = h.ask({.n_prompt = 100, .n_predict = 4, .salt = 1});
    h.run();
    EXPECT_EQ(n_cached(again), 99);
    h.expect_all_exact();
}

TEST(CacheRam, WhoWantsNoCacheGetsNone) {
    Harness h(pool_of(512), with_cache(kPlenty));
    for (const Token salt : {1, 2}) {
        h.ask({.n_prompt = 60, .n_predict = 4, .salt = salt});
        h.run();
    }
    const Client& c = h.ask({.n_prompt = 60, .n_predict = 4, .salt = 1, .cache_prompt = false});
    h.run();
    EXPECT_EQ(n_cached(c), 0);
    h.expect_all_exact();
}

TEST(CacheRam, OffAndRefusedMemoryLoseOnlyTheCache) {
    engine::EngineConfig refused = with_cache(kPlenty);
    refused.park_memory = [](std::size_t) { return std::unique_ptr<std::byte[]>(); };
    for (const engine::EngineConfig& config : {with_cache(0), refused}) {
        Harness h(pool_of(128), config);
        for (const Token salt : {1, 2, 1}) {
            h.ask({.n_prompt = 100, .n_predict = 8, .salt = salt});
            h.run();
        }
        h.expect_all_exact();
        EXPECT_EQ(h.snapshot().cache_ram_bytes.value(), 0);
        EXPECT_EQ(h.snapshot().counters.n_cache_loaded_total, 0U);
    }
}

// Every call of these kinds fails in turn: nothing but the cache is lost.
TEST(CacheRam, ACopyThatFailsCostsOnlyTheCache) {
    for (const auto call : {engine::FakeCall::save, engine::FakeCall::load, engine::FakeCall::snapshot_size,
                            engine::FakeCall::truncate}) {
        for (std::uint64_t nth = 1; nth <= 12; ++nth) {
            Harness h(pool_of(200), with_cache(kPlenty));
            h.backend.fail_nth(call, nth);
            for (int round = 0; round < 2; ++round) {
                for (Token salt = 1; salt <= 6; ++salt) {
                    h.ask({.n_prompt = 60, .n_predict = 30, .salt = salt});
                    if (salt % 3 == 0) {
                        h.run();
                    }
                }
            }
            h.run();
            h.expect_all_exact();
        }
    }
}

// A memory that cannot be rewound takes only what its prompt goes on from.
TEST(CacheRam, WithoutRewinding) {
    engine::FakeOptions options = pool_of(512);
    options.can_rewind = false;
    Harness h(options, with_cache(kPlenty));
    for (int round = 0; round < 2; ++round) {
        for (Token salt = 1; salt <= 5; ++salt) {
            h.ask({.n_prompt = 60 + 40 * round, .n_predict = 4, .salt = salt});
            h.run();
        }
    }
    h.expect_all_exact();
}

}  // namespace
}  // namespace kvalet::test
