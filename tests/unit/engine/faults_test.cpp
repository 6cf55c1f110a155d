// Each kind of backend call fails at its nth time, for all n of a run, and so does each request for memory:
// no request is lost but the ones whose own batch could not be computed, no byte leaks, nothing wedges.
#include <gtest/gtest.h>

#include "unit/engine/family_harness.h"

namespace kvalet::test {
namespace {

using engine::FakeCall;

/// One server with the requests of every test here: four chats that do not fit together, a family of two with
/// two chats beside it, and at last chats that find a part of their prompts in the slots.
class Crowd {
  public:
    explicit Crowd(engine::EngineConfig config, bool can_replay = true)
        : h(small(can_replay), std::move(config)) {}

    void run() {
        for (Token salt = 1; salt <= 4; ++salt) {
            h.ask({.n_prompt = 16, .n_predict = 50, .salt = salt});
        }
        h.run();
        family = ask_family(h, 2, 20, {30, 25});
        h.ask({.n_prompt = 16, .n_predict = 60, .salt = 5});
        h.ask({.n_prompt = 24, .n_predict = 50, .salt = 6});
        h.run();
        for (const Token salt : {6, 5}) {
            h.ask({.n_prompt = 30, .n_predict = 45, .salt = salt});
        }
        h.run();
        for (Member& m : family.members) {
            m.read();
        }
    }

    void expect_all_served() {
        h.expect_all_exact();
        expect_exact(h, family);
        for (const auto& c : h.clients) {
            EXPECT_FALSE(c->finished->truncated);
        }
        expect_nothing_left();
    }

    /// Whoever ended, and how: the books are closed, and the pool serves one that needs nearly all of it.
    void expect_nothing_left() {
        const engine::Snapshot s = h.snapshot();
        EXPECT_EQ(s.parked_bytes.value(), 0);
        EXPECT_EQ(s.n_processing + s.n_deferred + s.n_preempted, 0U);
        EXPECT_EQ(s.used, s.used_idle);
        EXPECT_EQ(s.used.value(), h.backend.cells_used());
        EXPECT_EQ(s.counters.n_preempt_total, s.counters.n_resume_total);
        Client& last = h.ask({.n_prompt = 50, .n_predict = 60, .salt = 7});
        h.run();
        EXPECT_TRUE(last.finished && last.tokens == h.alone(last.prompt, 60));
    }

    Harness h;
    Family family;

  private:
    static engine::FakeOptions small(bool can_replay) {
        engine::FakeOptions o;
        o.pool = 128;
        o.can_replay = can_replay;
        return o;
    }
};

/// How often a run without faults makes this call.
std::uint64_t calls_of(const char* preset, FakeCall call) {
    Crowd crowd(config_of(preset));
    crowd.run();
    EXPECT_GT(crowd.h.parks.size(), 0U);
    EXPECT_EQ(crowd.h.backend.n_shares(), 1U);
    return crowd.h.backend.calls(call);
}

bool copies(const char* preset) {
    return std::string_view(preset) != "recompute";
}

class Faults : public testing::TestWithParam<const char*> {};

// P1.7, P3.2: a refusal, a copy that fails and one that cannot be put back never reach a client.
TEST_P(Faults, RefusalsAndFailedCopiesReachNobody) {
    using enum FakeCall;
    for (const FakeCall call : {decode_room, snapshot_size, save, load, truncate}) {
        const bool of_copies = call == snapshot_size || call == save || call == load;
        const std::uint64_t n = calls_of(GetParam(), call);
        ASSERT_EQ(n > 0, copies(GetParam()) || !of_copies) << "call " << static_cast<int>(call);
        for (std::uint64_t nth = 1; nth <= n; ++nth) {
            SCOPED_TRACE("call " + std::to_string(static_cast<int>(call)) + ", time " + std::to_string(nth));
            Crowd crowd(config_of(GetParam()));
            crowd.h.backend.fail_nth(call, nth);
            crowd.run();
            const engine::Counters counters = crowd.h.snapshot().counters;
            EXPECT_EQ(counters.n_kv_full_total, call == decode_room ? 1U : 0U);
            EXPECT_EQ(counters.n_restore_failed_total, call == load ? 1U : 0U);
            EXPECT_GE(counters.n_preempt_recompute_total, call == snapshot_size || call == save ? 1U : 0U);
            crowd.expect_all_served();
            ASSERT_FALSE(HasFailure());
        }
    }
}

// The same when it never works.
TEST_P(Faults, CopiesThatAlwaysFailReachNobody) {
    for (const FakeCall call : {FakeCall::snapshot_size, FakeCall::save, FakeCall::load}) {
        Crowd crowd(config_of(GetParam()));
        crowd.h.backend.fail_from(call, 1);
        crowd.run();
        const engine::Counters counters = crowd.h.snapshot().counters;
        if (call == FakeCall::load) {
            EXPECT_EQ(counters.n_restore_failed_total, counters.n_preempt_swap_total);
        } else {
            EXPECT_EQ(counters.n_preempt_swap_total, 0U);
        }
        EXPECT_GT(counters.n_recompute_tokens_total, 0U);
        crowd.expect_all_served();
    }
}

// P3.2, P3.5: memory that the system refuses is no error: that one is computed again.
TEST_P(Faults, RefusedMemoryReachesNobody) {
    for (const bool can_replay : {true, false}) {
        std::uint64_t n_asked = 0;
        std::uint64_t refused = 0;
        engine::EngineConfig config = config_of(GetParam());
        config.park_memory = [&](std::size_t n) {
            return ++n_asked == refused ? nullptr : std::make_unique<std::byte[]>(n);
        };
        if (!can_replay && config.policy.budget_bytes == 0) {
            continue;  // nobody can be parked at all: that is another test
        }
        {
            Crowd crowd(config, can_replay);
            crowd.run();
            crowd.expect_all_served();
        }
        const std::uint64_t n = std::exchange(n_asked, 0);
        ASSERT_EQ(n > 0, copies(GetParam()));
        for (refused = 1; refused <= n; ++refused) {
            SCOPED_TRACE("time " + std::to_string(refused) + (can_replay ? "" : ", and no replay"));
            n_asked = 0;
            Crowd crowd(config, can_replay);
            crowd.run();
            EXPECT_EQ(crowd.h.snapshot().counters.n_preempt_recompute_total > 0, can_replay);
            crowd.expect_all_served();
            ASSERT_FALSE(HasFailure());
        }
    }
}

// Where nobody can be parked at all (no memory, no replay) the pool is shared as long as it lasts; then one
// ends as any sequence does that has filled it, and the others go on (P3.3).
TEST(FaultsWithoutAWayOut, EndButNeverWedge) {
    engine::EngineConfig config = config_of("default");
    config.park_memory = [](std::size_t) { return std::unique_ptr<std::byte[]>(); };
    Crowd crowd(config, false);
    crowd.run();
    EXPECT_EQ(crowd.h.parks.size(), 0U);
    crowd.h.expect_all_exact();
    expect_exact(crowd.h, crowd.family);
    crowd.expect_nothing_left();
}

// A compute error ends the requests of that batch with an error each, and nobody else.
TEST_P(Faults, AComputeErrorEndsItsOwnBatchOnly) {
    const std::uint64_t n = calls_of(GetParam(), FakeCall::decode_compute);
    for (std::uint64_t nth = 1; nth <= n; ++nth) {
        SCOPED_TRACE("time " + std::to_string(nth));
        Crowd crowd(config_of(GetParam()));
        crowd.h.backend.fail_nth(FakeCall::decode_compute, nth);
        crowd.run();
        std::size_t n_failed = 0;
        for (const auto& c : crowd.h.clients) {
            n_failed += c->failed ? 1U : 0U;
            EXPECT_TRUE(c->failed.has_value() != c->finished.has_value()) << "a stream without an end (F18)";
            EXPECT_EQ(c->tokens, crowd.h.alone(c->prompt, static_cast<std::int64_t>(c->tokens.size())));
        }
        for (std::size_t i = 0; i < crowd.family.members.size(); ++i) {
            const Member& m = crowd.family.members[i];
            n_failed += m.failed ? 1U : 0U;
            EXPECT_TRUE(m.failed.has_value() != m.finished.has_value()) << "a member without an end";
            expect_right_tokens(crowd.h, crowd.family, i);
        }
        EXPECT_GT(n_failed, 0U);
        EXPECT_LE(n_failed, 4U) << "more than run at once";
        EXPECT_EQ(crowd.h.snapshot().counters.n_failed_total, n_failed);
        crowd.expect_nothing_left();
        ASSERT_FALSE(HasFailure());
    }
}

INSTANTIATE_TEST_SUITE_P(Presets, Faults,
                         testing::Values("swap", "recompute", "hybrid", "watermark", "priority", "default"));

}  // namespace
}  // namespace kvalet::test
