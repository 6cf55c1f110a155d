// A scenario in a text file: requests by name, when they come and go, and, if it likes, what must happen.
//
//   # the rest of a line is for people
//   preset swap                        (without it: all presets, and nothing can be expected)
//   pool 256                           slots, batch, ubatch, chunk, margin, min-run, high, low, budget-kib,
//                                      kib-per-token, step-us, row-us, prompt-rate, copy-rate, copy-us
//                                      likewise
//   at 0 ask a prompt 64 generate 60 priority 1
//   at 12 leave a                      at: milliseconds; by default each decode takes one
//   at 12 park a                       also: unpark a, priority a 5
//   expect park a swap kv_full         in the order in which it happens, all of it:
//   expect resume a swap               parks, resumes, ends with their number of tokens, leaves
//   expect end a 60
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "sim/options.h"
#include "sim/workload.h"

namespace kvalet::sim {

enum class OrderKind : std::uint8_t { ask, leave, park, unpark, priority, read_on };

struct Order {
    Micros at_us = 0;
    OrderKind kind = OrderKind::ask;
    std::uint64_t request = 0;  // index of Scenario::asks
    std::int32_t priority = 0;
};

/// Numbers of the policy that a scenario may set; -1: the preset's.
struct PolicyNumbers {
    std::int64_t margin = -1, min_run = -1, high = -1, low = -1, chunk = -1;
    std::int64_t budget_kib = -1;
};

struct Scenario {
    std::string preset;
    Machine machine;
    PolicyNumbers numbers;
    std::vector<Ask> asks;
    std::vector<Order> orders;  // in the order of the file
    std::vector<std::string> expected;
};

/// The limit of a scenario file.
constexpr std::size_t kMaxScenarioBytes = std::size_t{16} << 20U;

/// invalid_request names the line and what was expected there.
[[nodiscard]] Result<Scenario> parse_scenario(std::string_view text);
[[nodiscard]] Result<Scenario> read_scenario(const std::string& path);

}  // namespace kvalet::sim
