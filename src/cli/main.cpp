// kvalet, on libllama.
#include <iostream>

#include "cli/command.h"
#include "cli/load_llama.h"
#include "cli/simulate.h"

int main(int argc, char** argv) {
    const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
    kvalet::cli::Subcommands subcommands;
    subcommands.simulate = [](const std::vector<std::string>& rest) {
        return kvalet::cli::simulate(rest, std::cout, std::cerr);
    };
    return kvalet::cli::run_command(args, kvalet::cli::process_environment(), kvalet::cli::llama_loader(),
                                    subcommands);
}
