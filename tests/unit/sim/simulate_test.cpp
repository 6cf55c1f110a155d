// The table for all presets, the same hash for the same seed, and exit code 1 with seed
// and step when an invariant is broken on purpose.
#include "sim/simulate.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <iostream>
#include <sstream>

#include "sched/policy.h"
#include "sim/run.h"

namespace kvalet::test {
namespace {

sim::Options small(std::uint64_t seed = 5) {
    sim::Options o;
    o.workload.seed = seed;
    o.workload.n_requests = 300;
    return o;
}

struct Outcome {
    int code;
    std::string out, err;
};

Outcome simulate(const sim::Options& o) {
    std::ostringstream out, err;
    const int code = sim::simulate(o, out, err);
    return {code, out.str(), err.str()};
}

TEST(Simulate, PrintsARowForEachPresetAndBudget) {
    const Outcome o = simulate(small());
    EXPECT_EQ(o.code, 0) << o.err;
    for (const std::string_view preset : sched::kPresets) {
        EXPECT_NE(o.out.find("\n" + std::string(preset) + " "), std::string::npos) << preset;
    }
    EXPECT_EQ(std::count(o.out.begin(), o.out.end(), '\n'), 2 + 2 + 4 * 4 + 1) << o.out;
}

TEST(Simulate, TheSameSeedGivesTheSameHashWhateverTheThreads) {
    sim::Options o = small();
    o.threads = 1;
    const Outcome first = simulate(o);
    o.threads = 3;
    const Outcome second = simulate(o);
    EXPECT_EQ(first.out, second.out);
    EXPECT_NE(first.out.find("hash "), std::string::npos);
    const Outcome other = simulate(small(6));
    EXPECT_NE(first.out.substr(first.out.find("hash")), other.out.substr(other.out.find("hash")));
}

// ---- the runs themselves

class EveryRun : public testing::TestWithParam<std::string_view> {
  protected:
    sim::Report run(const sim::Options& o, std::int64_t budget_mib) const {
        sched::Policy p = sched::preset(GetParam()).value();
        if (p.budget_bytes > 0) {
            p.budget_bytes = budget_mib * sched::kMiB;
        }
        return sim::run(o, std::string(GetParam()), p, nullptr);
    }
};

TEST_P(EveryRun, EverybodyIsServedUnderPressure) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        for (const std::int64_t budget_mib : {8192, 2, 0}) {
            const sim::Options o = small(seed);
            const sim::Report r = run(o, budget_mib);
            EXPECT_EQ(r.fault, "");
            EXPECT_EQ(r.n_completed + r.n_left, o.workload.n_requests);
            EXPECT_GT(r.n_swapped + r.n_dropped, 0);
            EXPECT_GT(r.n_left, 0);
            const bool drops = GetParam() == "recompute" || (GetParam() != "swap" && budget_mib == 0);
            EXPECT_EQ(r.n_swapped == 0, drops);
            EXPECT_LE(r.parked_bytes_max, GetParam() == "swap" ? INT64_MAX : budget_mib * sched::kMiB);
        }
    }
}

TEST_P(EveryRun, AlsoWhenTheyComeWithoutWaitingForOthers) {
    sim::Options o = small();
    o.workload.arrivals_per_s = 20;
    const sim::Report r = run(o, 8192);
    EXPECT_EQ(r.fault, "");
    EXPECT_EQ(r.n_completed + r.n_left, o.workload.n_requests);
}

// P1.4: parks at every token, in every phase.
TEST_P(EveryRun, AlsoWithForcedParks) {
    for (const std::int64_t every : {1, 7}) {
        sim::Options o = small();
        o.preempt_every = every;
        o.workload.n_requests = 100;
        const sim::Report r = run(o, 2);
        EXPECT_EQ(r.fault, "");
        EXPECT_EQ(r.n_completed + r.n_left, o.workload.n_requests);
    }
}

// Other shapes: one slot, many slots, a pool that one prompt nearly fills, everybody leaves, all important,
// half of them or nobody reads all the time.
TEST_P(EveryRun, AlsoInOddWorlds) {
    for (int world = 0; world < 8; ++world) {
        sim::Options o = small(static_cast<std::uint64_t>(world));
        o.machine.n_slots = world == 0 ? 1 : world == 1 ? 32 : 8;
        o.machine.pool = world == 2 ? 170 : 512;
        o.workload.n_clients = world == 1 ? 64 : 24;
        o.workload.leave_pct = world == 3 ? 100 : 2;
        o.workload.hold_pct = world == 4 ? 60 : 1;
        o.workload.important_pct = world == 5 ? 50 : 5;
        o.workload.dawdle_pct = world == 6 ? 50 : world == 7 ? 100 : 1;
        const sim::Report r = run(o, 2);
        EXPECT_EQ(r.fault, "") << "world " << world;
        EXPECT_EQ(r.n_completed + r.n_left, o.workload.n_requests) << "world " << world;
    }
}

INSTANTIATE_TEST_SUITE_P(Presets, EveryRun, testing::ValuesIn(sched::kPresets),
                         [](const auto& p) { return std::string(p.param); });

// P0, P10: no request waits for ever under a stream of higher ones. Half of all are important and never
// leave room; the humble ones are served all the same.
TEST(Simulate, NobodyWaitsForEverUnderAStreamOfHigherOnes) {
    for (const char* preset : {"priority", "default"}) {
        sim::Options o = small();
        o.workload.n_requests = 3'000;
        o.workload.important_pct = 90;
        o.workload.n_clients = 64;
        const sim::Report r = sim::run(o, preset, sched::preset(preset).value(), nullptr);
        EXPECT_EQ(r.fault, "");
        EXPECT_LT(r.first_us.largest(), r.time_us / 4) << preset;
        EXPECT_LT(r.parked_us.largest(), r.time_us / 4) << preset;
    }
}

// ---- one that accepts everything would pass all tests above

class EveryFault : public testing::TestWithParam<std::pair<sim::Fault, const char*>> {};

TEST_P(EveryFault, IsNoticedWithItsSeedAndStep) {
    for (const std::uint64_t at : {1U, 40U}) {
        sim::Options o = small();
        o.presets = {"default"};
        o.fault = GetParam().first;
        o.fault_at = at;
        const Outcome outcome = simulate(o);
        EXPECT_EQ(outcome.code, 1);
        EXPECT_NE(outcome.err.find("seed 5 preset default budget"), std::string::npos) << outcome.err;
        EXPECT_NE(outcome.err.find(" step "), std::string::npos) << outcome.err;
        EXPECT_NE(outcome.err.find(GetParam().second), std::string::npos) << outcome.err;
    }
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryFault,
                         testing::Values(std::pair{sim::Fault::wrong_token, "a wrong token"},
                                         std::pair{sim::Fault::lost_token, "task"},
                                         std::pair{sim::Fault::double_token, "a wrong token"},
                                         std::pair{sim::Fault::lost_end, "are alive"}));

// Cells that are kept show when the backend runs out of them, or when a snapshot meets them in its slot:
// whichever is first ends the program, one by the checker and one by an assertion.
TEST(FaultDeathTest, CellsThatAreKeptAreNoticed) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    for (const std::uint64_t at : {1U, 40U}) {
        sim::Options o = small();
        o.presets = {"default"};
        o.fault = sim::Fault::kept_cells;
        o.fault_at = at;
        EXPECT_EXIT(
            {
                const Outcome outcome = simulate(o);
                std::cerr << outcome.err;
                std::exit(outcome.code);
            },
            testing::ExitedWithCode(1), "seed 5 preset default .*step [0-9]+");
    }
}

TEST(FaultDeathTest, AnAssertionOfTheProgramSaysSeedAndStepToo) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    sim::Options o = small();
    o.presets = {"default"};
    o.fault = sim::Fault::failed_check;
    o.fault_at = 200;
    EXPECT_EXIT(static_cast<void>(simulate(o)), testing::ExitedWithCode(1),
                "assertion failed.*\n.*seed 5 preset default step [0-9]+");
}

}  // namespace
}  // namespace kvalet::test
