// P1.6, P2.3, P7: priorities, park and unpark.
#include <gtest/gtest.h>

#include "unit/engine/harness.h"

namespace kvalet::test {
namespace {

engine::FakeOptions pool_of(std::int64_t cells) {
    engine::FakeOptions o;
    o.pool = cells;
    return o;
}

std::optional<engine::ParkReply> reply;
std::optional<Error> refusal;

void keep(Result<engine::ParkReply> r) {
    reply.reset();
    refusal.reset();
    r.ok() ? void(reply = *r) : void(refusal = r.error());
}

// Whether it comes first or last, it is never parked and ends first.
TEST(Priority, TheImportantOneIsNeverParkedAndEndsFirst) {
    for (const char* preset : {"priority", "default"}) {
        for (const Token place : {1, 4}) {
            Harness h(pool_of(512), config_of(preset));
            for (Token salt = 1; salt <= 4; ++salt) {
                h.ask({.n_prompt = 64, .n_predict = 300, .priority = salt == place ? 10 : 0, .salt = salt});
                for (int i = 0; i < 30; ++i) {
                    h.step();
                }
            }
            const auto& important = *h.clients[static_cast<std::size_t>(place - 1)];
            while (!important.finished) {
                ASSERT_TRUE(h.step());
                for (const auto& c : h.clients) {
                    EXPECT_TRUE(c.get() == &important || !c->finished) << preset << " place " << place;
                }
                if (important.finished) {
                    break;
                }
            }
            h.run();
            h.expect_all_exact();
            for (const engine::ParkRecord& p : h.parks) {
                EXPECT_NE(p.task, important.task);
            }
        }
    }
}

// P1.6, F7: all slots busy, a priority-10 request comes: its first token is there before any running one
// ends.
TEST(Priority, AnImportantRequestTakesASlot) {
    Harness h(pool_of(2048), config_of("default"));
    for (Token salt = 1; salt <= 4; ++salt) {
        h.ask({.n_prompt = 32, .n_predict = 200, .salt = salt});
    }
    for (int i = 0; i < 20; ++i) {
        h.step();
    }
    Client& late = h.ask({.n_prompt = 32, .n_predict = 20, .priority = 10, .salt = 9});
    std::int64_t steps = 0;
    while (late.tokens.empty()) {
        ASSERT_TRUE(h.step());
        ++steps;
    }
    EXPECT_LE(steps, 2) << "at most one step plus one park";
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_FALSE(h.clients[i]->finished);
    }
    ASSERT_EQ(h.parks.size(), 1U);
    EXPECT_EQ(h.parks[0].reason, sched::ParkReason::priority);
    h.run();
    h.expect_all_exact();
}

TEST(Priority, EqualPrioritiesNeverDisplace) {
    Harness h(pool_of(4096), config_of("default"));
    for (Token salt = 1; salt <= 12; ++salt) {
        h.ask({.n_prompt = 32, .n_predict = 100, .priority = 5, .salt = salt});
        h.step();
    }
    h.run();
    h.expect_all_exact();
    EXPECT_EQ(h.parks.size(), 0U);
}

// No stream of more important requests keeps one out for ever.
TEST(Priority, AWaitingOneIsPromoted) {
    engine::FakeOptions options = pool_of(512);
    options.n_slots = 1;
    Harness h(options, config_of("default"));
    h.ask({.n_prompt = 16, .n_predict = 10, .priority = 10, .salt = 2});
    Client& humble = h.ask({.n_prompt = 16, .n_predict = 10, .priority = 0, .salt = 1});
    int n_higher = 1;
    while (!humble.finished) {
        ASSERT_LT(n_higher, 200) << "starved";
        h.ask({.n_prompt = 16, .n_predict = 10, .priority = 10, .salt = 3});
        ++n_higher;
        for (int i = 0; i < 12; ++i) {
            h.step();
        }
    }
    h.run();
    h.expect_all_exact();
}

// P7, F16: used cells fall by exactly its own; the text is the same; others use the room.
TEST(Park, ByRequestIdAndBack) {
    Harness h(pool_of(512), config_of("default"));
    Client& c = h.ask({.n_prompt = 64, .n_predict = 200, .salt = 1});
    for (int i = 0; i < 30; ++i) {
        h.step();
    }
    h.engine().park_request("id-0", keep);
    h.step();
    ASSERT_TRUE(reply.has_value());
    EXPECT_TRUE(reply->is_preempted);
    EXPECT_EQ(reply->mode, sched::ParkMode::swap);
    EXPECT_EQ(reply->n_cells.value(), h.parks[0].cells.value());
    EXPECT_GT(reply->bytes.value(), 0);
    EXPECT_EQ(h.backend.cells_used(), 0);

    h.engine().park_request("id-0", keep);
    h.step();
    EXPECT_EQ(refusal->kind, ErrorKind::invalid_request) << "parked already";
    h.engine().park_request("nobody", keep);
    h.step();
    EXPECT_EQ(refusal->kind, ErrorKind::not_found);
    h.engine().park_slot(SlotId{3}, keep);
    h.step();
    EXPECT_EQ(refusal->kind, ErrorKind::invalid_request) << "an idle slot";
    h.engine().unpark_slot(SlotId{99}, keep);
    h.step();
    EXPECT_EQ(refusal->kind, ErrorKind::invalid_request) << "no such slot";

    Client& other = h.ask({.n_prompt = 64, .n_predict = 400, .salt = 2});
    h.run();
    EXPECT_TRUE(other.finished.has_value());
    EXPECT_FALSE(c.finished.has_value()) << "it stays parked";
    h.engine().unpark_request("id-0", keep);
    h.run();
    EXPECT_TRUE(reply->is_preempted) << "it comes back by the usual order, not with the reply";
    h.expect_all_exact();
    EXPECT_EQ(c.tokens.size(), 200U);
}

TEST(Park, EndsAfterItsTime) {
    engine::EngineConfig config = config_of("default");
    config.park_ttl_s = 10;
    Harness h(pool_of(512), config);
    Client& c = h.ask({.n_prompt = 64, .n_predict = 100, .salt = 1});
    h.step();
    h.step();
    h.engine().park_request("id-0", keep);
    h.run();
    EXPECT_FALSE(c.finished.has_value());
    h.clock.advance_us(9'000'000);
    h.run();
    EXPECT_FALSE(c.finished.has_value());
    h.clock.advance_us(1'000'000);
    h.run();
    h.expect_all_exact();
}

// Both orders come in one step: the park must not hold for ever what was unparked at once.
TEST(Park, TakenBackBeforeItWasCarriedOut) {
    Harness h(pool_of(512), config_of("default"));
    h.ask({.n_prompt = 64, .n_predict = 50});
    h.step();
    std::optional<Error> of_the_park;
    h.engine().park_request("id-0", [&of_the_park](Result<engine::ParkReply> r) {
        of_the_park = r.ok() ? std::nullopt : std::optional(r.error());
    });
    h.engine().unpark_request("id-0", keep);
    h.run();
    EXPECT_TRUE(reply.has_value());
    ASSERT_TRUE(of_the_park.has_value());
    EXPECT_EQ(of_the_park->kind, ErrorKind::invalid_request);
    h.expect_all_exact();
    EXPECT_EQ(h.parks.size(), 0U);
}

// Promotion counts in the queue at once: the overtaken one goes before a later request of the priority it has
// reached.
TEST(Priority, AnOvertakenRequestMovesUpInTheQueue) {
    engine::FakeOptions options = pool_of(512);
    options.n_slots = 1;
    Harness h(options, config_of("default"));
    h.ask({.n_prompt = 16, .n_predict = 5, .priority = 1, .salt = 2});
    Client& humble = h.ask({.n_prompt = 16, .n_predict = 5, .priority = 0, .salt = 1});
    for (Token i = 0; i < 8; ++i) {
        h.ask({.n_prompt = 16, .n_predict = 5, .priority = 1, .salt = 3});
    }
    std::size_t n_before = 0;
    while (!humble.finished) {
        ASSERT_TRUE(h.step());
    }
    for (const auto& c : h.clients) {
        n_before += c->finished && c.get() != &humble ? 1U : 0U;
    }
    EXPECT_EQ(n_before, 4U) << "the first, and three that overtook it";
    h.run();
    h.expect_all_exact();
}

TEST(Park, NeedsPreemption) {
    engine::EngineConfig config = config_of("default");
    config.policy.preempt = false;
    Harness h(pool_of(512), config);
    h.ask({.n_prompt = 64, .n_predict = 100});
    h.step();
    h.engine().park_request("id-0", keep);
    h.step();
    ASSERT_TRUE(refusal.has_value());
    EXPECT_EQ(refusal->kind, ErrorKind::not_supported);
    h.run();
    h.expect_all_exact();
}

}  // namespace
}  // namespace kvalet::test
