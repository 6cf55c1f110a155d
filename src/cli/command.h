// The command `kvalet`: which subcommand is meant, and the ends that need no server.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/serve.h"

namespace kvalet::cli {

/// A subcommand gets the arguments after its name and returns the exit code.
using Subcommand = std::function<int(const std::vector<std::string>& args)>;

/// What the executable at hand can do beside serving. An empty one is named as not there yet.
struct Subcommands {
    Subcommand simulate;
    Subcommand check_exact;
};

/// `args` without the program's name. `kvalet serve …` and `kvalet -m …` serve by `loader`.
[[nodiscard]] int run_command(const std::vector<std::string>& args, const Environment& environment,
                              const Loader& loader, const Subcommands& subcommands);

}  // namespace kvalet::cli
