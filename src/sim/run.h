// One run: one preset, one budget, one workload, on an engine of its own in virtual time.
#pragma once

#include "sched/policy.h"
#include "sim/options.h"
#include "sim/report.h"
#include "sim/scenario.h"

namespace kvalet::sim {

/// With a scenario its requests and orders, else those of options.workload.
[[nodiscard]] Report run(const Options& options, const std::string& preset, const sched::Policy& policy,
                         const Scenario* scenario);

}  // namespace kvalet::sim
