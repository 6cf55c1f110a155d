// kvalet, on libllama.
#include "cli/command.h"
#include "cli/load_llama.h"

int main(int argc, char** argv) {
    const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
    return kvalet::cli::run_command(args, kvalet::cli::process_environment(), kvalet::cli::llama_loader(),
                                    {});
}
