#include "sched/policy.h"

#include <array>

namespace kvalet::sched {

namespace {

Policy published() {
    Policy p;
    p.victim = VictimOrder::smallest;
    p.resume = ResumeOrder::fit;
    p.min_run = Tokens{0};
    p.growth = Tokens{0};
    p.replay_pays = false;
    p.slot_pressure = false;
    return p;
}

template <class Choice, std::size_t n>
std::optional<Choice> choice_of(const std::array<std::string_view, n>& names, std::string_view name) {
    for (std::size_t i = 0; i < n; ++i) {
        if (names[i] == name) {
            return static_cast<Choice>(i);
        }
    }
    return std::nullopt;
}

}  // namespace

std::optional<Policy> preset(std::string_view name) {
    Policy p = published();
    if (name == "swap") {
        p.budget_bytes = kUnlimited;
    } else if (name == "recompute") {
        p.budget_bytes = 0;
    } else if (name == "watermark") {
        p.trigger = Trigger::watermark;
        p.victim = VictimOrder::newest;
    } else if (name == "priority") {
        p.victim = VictimOrder::priority;
        p.resume = ResumeOrder::priority;
    } else if (name == "default") {
        p = Policy{};
        p.smallest_in_tier = true;
    } else if (name != "hybrid") {
        return std::nullopt;
    }
    return p;
}

std::optional<Trigger> trigger_of(std::string_view name) {
    return choice_of<Trigger>(std::array<std::string_view, 2>{"full", "watermark"}, name);
}

std::optional<VictimOrder> victim_order_of(std::string_view name) {
    return choice_of<VictimOrder>(std::array<std::string_view, 3>{"smallest", "newest", "priority"}, name);
}

std::optional<ResumeOrder> resume_order_of(std::string_view name) {
    return choice_of<ResumeOrder>(std::array<std::string_view, 3>{"fit", "fair", "priority"}, name);
}

}  // namespace kvalet::sched
