// `kvalet simulate`: its flags. What it does is in sim/simulate.h.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace kvalet::cli {

/// `args` without the program's name and the command. The exit code: 0, or 1 when an invariant was broken or
/// the flags make no sense.
[[nodiscard]] int simulate(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);

}  // namespace kvalet::cli
