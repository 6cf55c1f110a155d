// Each kind of backend call fails at its nth time, for all n of a run: no request is lost but the ones whose
// own batch could not be computed, no byte leaks, nothing wedges.
#include <gtest/gtest.h>

#include "unit/engine/harness.h"

namespace kvalet::test {
namespace {

engine::FakeOptions small() {
    engine::FakeOptions o;
    o.pool = 256;
    return o;
}

void ask_four(Harness& h) {
    for (Token salt = 1; salt <= 4; ++salt) {
        h.ask({.n_prompt = 32, .n_predict = 120, .salt = salt});
    }
}

std::uint64_t calls_of(const char* preset, engine::FakeCall call) {
    Harness h(small(), config_of(preset));
    ask_four(h);
    h.run();
    return h.backend.calls(call);
}

class Faults : public testing::TestWithParam<const char*> {};

// P1.7, P3.2: a refusal, a failed copy and a failed restore never reach a client.
TEST_P(Faults, RefusalsAndFailedCopiesReachNobody) {
    using enum engine::FakeCall;
    for (const engine::FakeCall call : {decode_room, save, load, truncate}) {
        const std::uint64_t n = calls_of(GetParam(), call);
        for (std::uint64_t nth = 1; nth <= n; ++nth) {
            Harness h(small(), config_of(GetParam()));
            h.backend.fail_nth(call, nth);
            ask_four(h);
            h.run();
            h.expect_all_exact();
            for (const auto& c : h.clients) {
                ASSERT_EQ(c->tokens.size(), 120U) << "call " << static_cast<int>(call) << ", time " << nth;
            }
            if (call == decode_room) {
                EXPECT_EQ(h.snapshot().counters.n_kv_full_total, 1U);
            }
        }
    }
}

// A compute error ends the requests of that batch with an error each, and nobody else.
TEST_P(Faults, AComputeErrorEndsItsOwnBatchOnly) {
    const std::uint64_t n = calls_of(GetParam(), engine::FakeCall::decode_compute);
    for (std::uint64_t nth = 1; nth <= n; nth += 7) {
        Harness h(small(), config_of(GetParam()));
        h.backend.fail_nth(engine::FakeCall::decode_compute, nth);
        ask_four(h);
        h.run();
        std::size_t n_failed = 0;
        for (const auto& c : h.clients) {
            n_failed += c->failed ? 1U : 0U;
            ASSERT_TRUE(c->failed || c->finished) << "a stream without an end (F18)";
            EXPECT_EQ(c->tokens, h.alone(c->prompt, static_cast<std::int64_t>(c->tokens.size())));
        }
        EXPECT_GT(n_failed, 0U);
        EXPECT_EQ(h.snapshot().parked_bytes.value(), 0);
        EXPECT_EQ(h.snapshot().used, h.snapshot().used_idle);
    }
}

INSTANTIATE_TEST_SUITE_P(Presets, Faults,
                         testing::Values("swap", "recompute", "hybrid", "watermark", "priority", "default"));

}  // namespace
}  // namespace kvalet::test
