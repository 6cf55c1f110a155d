// The table of flags: help, version and the log.
#include "cli/values.h"

namespace kvalet::cli {

namespace {

Status set_verbose(ServeOptions& o, const std::string& value) {
    const std::optional<bool> on = switch_of(value);
    if (!on) return expected("on, enabled, true, 1, off, disabled, false or 0");
    o.log.verbose = *on;
    if (*on) o.log.verbosity = LogOptions::kMaxVerbosity;
    return Unit{};
}

Setter as_switch_of(bool LogOptions::*field) {
    return as_switch([field](ServeOptions& o) -> bool& { return o.log.*field; });
}

}  // namespace

void add_log_flags(std::vector<Flag>& t) {
    add(t, Group::general, "help -h --usage", "", "", "", "", "Print this text and exit.",
        as_switch([](ServeOptions& o) -> bool& { return o.help; }));
    add(t, Group::general, "version", "", "", "", "", "Print the version and exit.",
        as_switch([](ServeOptions& o) -> bool& { return o.version; }));
    const Group g = Group::log;
    add(t, g, "verbosity -lv --log-verbosity", "", "LLAMA_ARG_LOG_VERBOSITY", "N", "3",
        "0 only what ends the server, 1 errors, 2 warnings, 3 information, 4 more, 5 everything.",
        as_integer([](ServeOptions& o) -> int& { return o.log.verbosity; }, 0));
    add(t, g, "verbose -v --log-verbose", "", "", "", "off",
        "Log everything, and show the inner form of replies as __verbose.", set_verbose);
    add(t, g, "log-file", "", "LLAMA_ARG_LOG_FILE", "FILE", "", "Log to this file as well.",
        as_text([](ServeOptions& o) -> std::string& { return o.log.file; }));
    add(t, g, "log-jsonl", "--no-log-jsonl", "LLAMA_ARG_LOG_JSONL", "", "off",
        "Log JSON, one object on each line, to stdout.", as_switch_of(&LogOptions::jsonl));
    add(t, g, "log-colors", "", "LLAMA_ARG_LOG_COLORS", "on|off|auto", "auto",
        "Colours in the log; auto: when it goes to a terminal.",
        [](ServeOptions& o, const std::string& value) -> Status {
            const std::optional<Toggle> toggle = toggle_of(value);
            if (!toggle) return expected("on, off or auto");
            o.log.colors = *toggle;
            return Unit{};
        });
    add(t, g, "log-prefix", "--no-log-prefix", "LLAMA_ARG_LOG_PREFIX", "", "on",
        "Write the level before each line.", as_switch_of(&LogOptions::prefix));
    add(t, g, "log-timestamps", "--no-log-timestamps", "LLAMA_ARG_LOG_TIMESTAMPS", "", "on",
        "Write the time before each line.", as_switch_of(&LogOptions::timestamps));
    add(t, g, "log-disable", "", "", "", "off", "No log at all.", as_switch_of(&LogOptions::disabled));
}

}  // namespace kvalet::cli
