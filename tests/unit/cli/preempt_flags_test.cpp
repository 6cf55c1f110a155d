// P5: presets, single flags beside them, and what ends the start.
#include <gtest/gtest.h>

#include "parse_helper.h"

namespace kvalet::cli {
namespace {

sched::Policy policy_of(const std::vector<std::string>& args, const Variables& variables = {}) {
    const Result<Parsed> parsed = parse(args, variables);
    EXPECT_TRUE(parsed.ok()) << parsed.error().message;
    return parsed->options.preempt.policy;
}

TEST(PreemptFlags, PresetsAreThoseOfTheScheduler) {
    for (const std::string_view name : sched::kPresets) {
        const sched::Policy wanted = *sched::preset(name);
        const sched::Policy policy = policy_of({"--preempt-preset", std::string(name)});
        EXPECT_EQ(policy.trigger, wanted.trigger) << name;
        EXPECT_EQ(policy.victim, wanted.victim) << name;
        EXPECT_EQ(policy.resume, wanted.resume) << name;
        EXPECT_EQ(policy.budget_bytes, wanted.budget_bytes) << name;
        EXPECT_EQ(policy.min_run, wanted.min_run) << name;
        EXPECT_EQ(policy.slot_pressure, wanted.slot_pressure) << name;
    }
    EXPECT_EQ(policy_of({"--preempt-preset", "swap"}).budget_bytes, sched::kUnlimited);
    EXPECT_EQ(policy_of({"--preempt-preset", "recompute"}).budget_bytes, 0);
}

TEST(PreemptFlags, NoPresetMeansDefault) {
    const sched::Policy policy = policy_of({});
    EXPECT_EQ(policy.victim, sched::preset("default")->victim);
    EXPECT_EQ(policy.min_run, sched::preset("default")->min_run);
    EXPECT_TRUE(policy.preempt);
}

TEST(PreemptFlags, SingleFlagsWinWhereverTheyStand) {
    for (const std::vector<std::string>& args :
         {std::vector<std::string>{"--preempt-preset", "swap", "--preempt-ram", "5", "--preempt-victim",
                                   "newest"},
          std::vector<std::string>{"--preempt-ram", "5", "--preempt-victim", "newest", "--preempt-preset",
                                   "swap"}}) {
        const sched::Policy policy = policy_of(args);
        EXPECT_EQ(policy.budget_bytes, 5 * sched::kMiB);
        EXPECT_EQ(policy.victim, sched::VictimOrder::newest);
        EXPECT_EQ(policy.resume, sched::ResumeOrder::fit);
        EXPECT_EQ(policy.min_run, Tokens{0});
    }
}

TEST(PreemptFlags, SingleVariablesWinOverAPresetArgument) {
    const sched::Policy policy =
        policy_of({"--preempt-preset", "watermark"}, {{"LLAMA_ARG_PREEMPT_HIGH", "99"}});
    EXPECT_EQ(policy.trigger, sched::Trigger::watermark);
    EXPECT_EQ(policy.high_pct, 99);
    EXPECT_EQ(policy.low_pct, 80);
}

TEST(PreemptFlags, RamIsMebibytesOrNoLimitOrNone) {
    EXPECT_EQ(policy_of({"--preempt-ram", "-1"}).budget_bytes, sched::kUnlimited);
    EXPECT_EQ(policy_of({"--preempt-ram", "0"}).budget_bytes, 0);
    EXPECT_EQ(policy_of({"--preempt-ram", "8192"}).budget_bytes, 8192LL * 1024 * 1024);
}

TEST(PreemptFlags, BadValuesEndTheStart) {
    const std::vector<std::pair<std::vector<std::string>, std::string>> table = {
        {{"--preempt-high", "80", "--preempt-low", "80"},
         "--preempt-high: expected more than --preempt-low (80), got '80'"},
        {{"--preempt-low", "95"}, "--preempt-high: expected more than --preempt-low (95), got '94'"},
        {{"--preempt-high", "101"}, "--preempt-high: expected a whole number from 0 to 100, got '101'"},
        {{"--preempt-low", "-1"}, "--preempt-low: expected a whole number from 0 to 100, got '-1'"},
        {{"--preempt-high", "ninety"}, "--preempt-high: expected a whole number from 0 to 100, got 'ninety'"},
        {{"--preempt-trigger", "empty"}, "--preempt-trigger: expected one of full, watermark, got 'empty'"},
        {{"--preempt-victim", "oldest"},
         "--preempt-victim: expected one of smallest, newest, priority, got 'oldest'"},
        {{"--preempt-resume", "lifo"}, "--preempt-resume: expected one of fit, fair, priority, got 'lifo'"},
        {{"--preempt-preset", "best"},
         "--preempt-preset: expected one of swap, recompute, hybrid, watermark, priority, default, got "
         "'best'"},
        {{"--preempt-ram", "-2"},
         "--preempt-ram: expected MiB: -1 for no limit, 0 for none, or a number, got '-2'"},
        {{"--preempt-ram", "9223372036854775807"},
         "--preempt-ram: expected MiB: -1 for no limit, 0 for none, or a number, got '9223372036854775807'"},
        {{"--preempt-min-run", "-1"}, "--preempt-min-run: expected a whole number of at least 0, got '-1'"},
        {{"--prefill-chunk", "0"}, "--prefill-chunk: expected a whole number of at least 1, got '0'"},
        {{"--park-ttl", "-1"}, "--park-ttl: expected a whole number of at least 0, got '-1'"},
        {{"--priority-max", "x"}, "--priority-max: expected a whole number of at least 0, got 'x'"},
        {{"--sse-notices", "loud"}, "--sse-notices: expected one of comments, data, off, got 'loud'"},
        {{"--queue-max", "-1"}, "--queue-max: expected a whole number from 0 to 1000000, got '-1'"},
    };
    for (const auto& [args, message] : table) EXPECT_EQ(error_of(args), message);
}

TEST(PreemptFlags, ForcedParksComeFromAVariable) {
    const Result<Parsed> parsed = parse({}, {{"LLAMA_SERVER_PREEMPT_EVERY", "7"}});
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(parsed->options.preempt.preempt_every, 7);
    for (const char* bad : {"-1", "x", "1.5"}) {
        EXPECT_EQ(error_of({}, {{"LLAMA_SERVER_PREEMPT_EVERY", bad}}),
                  std::string("LLAMA_SERVER_PREEMPT_EVERY: expected a whole number of at least 0, got '") +
                      bad + "'");
    }
}

}  // namespace
}  // namespace kvalet::cli
