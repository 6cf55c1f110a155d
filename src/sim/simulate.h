// `kvalet simulate`: every preset and budget on one workload, checked at every step.
#pragma once

#include <ostream>

#include "sim/options.h"

namespace kvalet::sim {

/// Prints the table and the hash to `out`, faults to `err`. 0, or 1 when an invariant was broken, a scenario
/// did not happen as expected, or the options make no sense. Runs side by side in threads; the output is the
/// same whatever their number.
[[nodiscard]] int simulate(const Options& options, std::ostream& out, std::ostream& err);

}  // namespace kvalet::sim
