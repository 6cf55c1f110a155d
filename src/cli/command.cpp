#include "cli/command.h"

#include <exception>
#include <iostream>

#include "cli/version.h"

namespace kvalet::cli {

namespace {

int serve(const std::vector<std::string>& args, const Environment& environment, const Loader& loader) {
    const Result<Parsed> parsed = parse_options(args, environment);
    if (!parsed) {
        complain(parsed.error().message);
        return kExitFailed;
    }
    if (parsed->options.help) {
        std::cout << help_text();
        return kExitOk;
    }
    if (parsed->options.version) {
        std::cout << version_text() << '\n';
        return kExitOk;
    }
    for (const std::string& warning : parsed->warnings) complain("warning: " + warning);
    return run_server(parsed->options, loader);
}

int not_there_yet(const std::string& name) {
    complain(name + " is not there yet");
    return kExitFailed;
}

int dispatch(const std::vector<std::string>& args, const Environment& environment, const Loader& loader,
             const Subcommands& subcommands) {
    const std::string name = args.empty() ? "" : args.front();
    if (name.empty() || name.starts_with('-')) return serve(args, environment, loader);
    const std::vector<std::string> rest(args.begin() + 1, args.end());
    if (name == "serve") return serve(rest, environment, loader);
    if (name == "simulate") return subcommands.simulate ? subcommands.simulate(rest) : not_there_yet(name);
    if (name == "check-exact")
        return subcommands.check_exact ? subcommands.check_exact(rest) : not_there_yet(name);
    if (name == "flags") {
        std::cout << flags_markdown();
        return kExitOk;
    }
    if (name == "help" || name == "version") return serve({"--" + name}, environment, loader);
    complain("unknown command: '" + name + "'; there are serve, simulate, check-exact and flags");
    return kExitFailed;
}

}  // namespace

int run_command(const std::vector<std::string>& args, const Environment& environment, const Loader& loader,
                const Subcommands& subcommands) {
    try {
        return dispatch(args, environment, loader, subcommands);
    } catch (const std::exception& e) {
        complain(std::string("ended by an error: ") + e.what());
        return kExitFailed;
    }
}

}  // namespace kvalet::cli
