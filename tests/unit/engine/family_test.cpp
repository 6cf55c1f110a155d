// n > 1: the prompt is computed once and shared; a family is never parked and never wedges the others.
#include <gtest/gtest.h>

#include "unit/engine/family_harness.h"

namespace kvalet::test {
namespace {

TEST(Family, ThePromptIsComputedOnce) {
    for (const bool unified : {true, false}) {
        engine::FakeOptions options;
        options.pool = 1024;
        options.unified = unified;
        Harness h(options, config_of("default"));
        Family f = ask_family(h, 3, 100, {40, 20, 60});
        ASSERT_TRUE(f.task.ok());
        h.run();
        expect_exact(h, f);
        EXPECT_EQ(h.snapshot().counters.prompt_tokens_total, 100U);
        EXPECT_EQ(f.members[0].tokens.size(), 40U);
        EXPECT_EQ(f.members[1].tokens.size(), 20U);
        EXPECT_EQ(f.members[2].tokens.size(), 60U);
        EXPECT_EQ(h.snapshot().used, h.snapshot().used_idle);
    }
}

TEST(Family, WaitsForAllItsSlotsAndOthersGoOn) {
    engine::FakeOptions options;
    options.pool = 2048;
    Harness h(options, config_of("default"));
    h.ask({.n_prompt = 20, .n_predict = 50, .salt = 1});
    h.ask({.n_prompt = 20, .n_predict = 80, .salt = 2});
    h.step();
    Family f = ask_family(h, 4, 50, {10, 10, 10, 10});
    h.ask({.n_prompt = 20, .n_predict = 30, .salt = 3});
    h.run();
    h.expect_all_exact();
    expect_exact(h, f);
}

TEST(Family, IsNeverParkedAndNeverWedges) {
    for (const char* preset : {"swap", "recompute", "watermark", "priority", "default"}) {
        engine::FakeOptions options;
        options.pool = 512;
        Harness h(options, config_of(preset));
        Family f = ask_family(h, 3, 100, {150, 150, 150});
        h.ask({.n_prompt = 64, .n_predict = 200, .salt = 1});
        h.run();
        h.expect_all_exact();
        for (Member& m : f.members) {
            m.read();
            ASSERT_TRUE(m.finished.has_value()) << preset;
        }
        for (const engine::ParkRecord& p : h.parks) {
            EXPECT_EQ(p.task, h.clients[0]->task) << preset;
        }
    }
}

// P4.5, P4.6: what cannot fit ends, the newest member first, and those behind it go on.
TEST(Family, ThatOutgrowsThePoolEndsWithLimit) {
    engine::FakeOptions options;
    options.pool = 256;
    Harness h(options, config_of("default"));
    Family f = ask_family(h, 3, 100, {1000, 1000, 1000});
    h.ask({.n_prompt = 64, .n_predict = 100, .salt = 1});
    h.run();
    h.expect_all_exact();
    expect_exact(h, f);
    for (Member& m : f.members) {
        EXPECT_TRUE(m.finished->truncated);
    }
}

TEST(Family, GoesWithItsClient) {
    for (const int steps : {0, 1, 10}) {
        engine::FakeOptions options;
        options.pool = 1024;
        Harness h(options, config_of("default"));
        Family f = ask_family(h, 3, 200, {100, 100, 100});
        for (int i = 0; i < steps; ++i) {
            h.step();
        }
        h.engine().cancel(*f.task);
        h.run();
        const engine::Snapshot s = h.snapshot();
        EXPECT_EQ(s.n_processing + s.n_deferred + s.n_preempted, 0U);
        EXPECT_EQ(s.used, s.used_idle);
        h.ask({.n_prompt = 200, .n_predict = 700, .salt = 1});
        h.run();
        h.expect_all_exact();
    }
}

TEST(Family, GoesWithItsClientAlsoAfterItsParentHasEnded) {
    engine::FakeOptions options;
    options.pool = 1024;
    Harness h(options, config_of("default"));
    Family f = ask_family(h, 3, 50, {5, 300, 300});
    while (!f.members[0].finished) {
        h.step();
        f.members[0].read();
        ASSERT_FALSE(f.members[0].failed);
    }
    h.engine().cancel(*f.task);
    h.run();
    const engine::Snapshot s = h.snapshot();
    EXPECT_EQ(s.counters.n_cancelled_total, 2U);
    EXPECT_EQ(s.counters.n_finished_total, 1U);
    EXPECT_EQ(s.n_processing, 0U);
    EXPECT_EQ(s.used, s.used_idle);
}

TEST(Family, LargerThanTheSlotsIsRefused) {
    Harness h({}, config_of("default"));
    const Family f = ask_family(h, 5, 10, {1, 1, 1, 1, 1});
    ASSERT_FALSE(f.task.ok());
    EXPECT_EQ(f.task.error().kind, ErrorKind::invalid_request);
}

}  // namespace
}  // namespace kvalet::test
