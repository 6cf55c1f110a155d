// P5: the presets.
#include "sched/policy.h"

#include <gtest/gtest.h>

#include "sched/view.h"

namespace kvalet::test {
namespace {

using sched::kMiB;
using sched::kUnlimited;
using sched::ResumeOrder;
using sched::Trigger;
using sched::VictimOrder;

struct Row {
    const char* name;
    Trigger trigger;
    VictimOrder victim;
    std::int64_t budget_bytes;
    ResumeOrder resume;
    bool slot_pressure;
    std::int64_t min_run;
};

const Row kRows[] = {
    {"swap", Trigger::full, VictimOrder::smallest, kUnlimited, ResumeOrder::fit, false, 0},
    {"recompute", Trigger::full, VictimOrder::smallest, 0, ResumeOrder::fit, false, 0},
    {"hybrid", Trigger::full, VictimOrder::smallest, 8192 * kMiB, ResumeOrder::fit, false, 0},
    {"watermark", Trigger::watermark, VictimOrder::newest, 8192 * kMiB, ResumeOrder::fit, false, 0},
    {"priority", Trigger::full, VictimOrder::priority, 8192 * kMiB, ResumeOrder::priority, false, 0},
    {"default", Trigger::full, VictimOrder::priority, 8192 * kMiB, ResumeOrder::fair, true, 32},
};

TEST(Policy, P5_ThePresetsAreThoseOfTheTable) {
    for (const Row& row : kRows) {
        const auto p = sched::preset(row.name);
        ASSERT_TRUE(p.has_value()) << row.name;
        EXPECT_TRUE(p->preempt) << row.name;
        EXPECT_EQ(p->trigger, row.trigger) << row.name;
        EXPECT_EQ(p->high_pct, 94) << row.name;
        EXPECT_EQ(p->low_pct, 80) << row.name;
        EXPECT_EQ(p->victim, row.victim) << row.name;
        EXPECT_EQ(p->budget_bytes, row.budget_bytes) << row.name;
        EXPECT_EQ(p->resume, row.resume) << row.name;
        EXPECT_EQ(p->slot_pressure, row.slot_pressure) << row.name;
        EXPECT_EQ(p->min_run, Tokens{row.min_run}) << row.name << ": P4.3";
        EXPECT_EQ(p->n_starved, 3) << row.name << ": P0";
    }
}

TEST(Policy, P5_EveryNameIsListedAndNoOtherIsKnown) {
    EXPECT_EQ(std::size(sched::kPresets), std::size(kRows));
    for (const std::string_view name : sched::kPresets) {
        EXPECT_TRUE(sched::preset(name).has_value()) << name;
    }
    EXPECT_FALSE(sched::preset("").has_value());
    EXPECT_FALSE(sched::preset("Swap").has_value());
}

TEST(Policy, P5_TheWordsOfTheFlags) {
    EXPECT_EQ(sched::trigger_of("full"), Trigger::full);
    EXPECT_EQ(sched::trigger_of("watermark"), Trigger::watermark);
    EXPECT_EQ(sched::victim_order_of("smallest"), VictimOrder::smallest);
    EXPECT_EQ(sched::victim_order_of("newest"), VictimOrder::newest);
    EXPECT_EQ(sched::victim_order_of("priority"), VictimOrder::priority);
    EXPECT_EQ(sched::resume_order_of("fit"), ResumeOrder::fit);
    EXPECT_EQ(sched::resume_order_of("fair"), ResumeOrder::fair);
    EXPECT_EQ(sched::resume_order_of("priority"), ResumeOrder::priority);
    EXPECT_FALSE(sched::trigger_of("half").has_value());
    EXPECT_FALSE(sched::victim_order_of("oldest").has_value());
    EXPECT_FALSE(sched::resume_order_of("").has_value());
}

TEST(Policy, P0_EffectivePriority) {
    struct {
        std::int32_t priority, parks, passes;
    } s{5, 2, 0};
    EXPECT_EQ(sched::effective_priority(s, 3), 5);
    s.parks = 3;
    EXPECT_EQ(sched::effective_priority(s, 3), 6);
    s.parks = 8;
    EXPECT_EQ(sched::effective_priority(s, 3), 7);
    s.passes = 1;
    EXPECT_EQ(sched::effective_priority(s, 3), 8);
}

}  // namespace
}  // namespace kvalet::test
