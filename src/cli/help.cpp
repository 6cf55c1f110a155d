// --help and docs/flags.md, both written from the table of flags.
#include <sstream>

#include "cli/flag.h"
#include "cli/not_yet.h"
#include "cli/values.h"

namespace kvalet::cli {

namespace {

constexpr std::size_t kHelpColumn = 32;
constexpr std::size_t kLineWidth = 110;

std::string spelled(const Flag& flag) {
    std::vector<std::string> names;
    for (const std::string& other : flag.others) {
        if (!other.starts_with("--")) names.push_back(other);
    }
    names.push_back("--" + flag.name);
    for (const std::string& other : flag.others) {
        if (other.starts_with("--")) names.push_back(other);
    }
    for (const std::string& negative : flag.negative) names.push_back(negative);
    std::string text = join(names, ", ");
    if (!flag.value.empty()) text.append(" ").append(flag.value);
    return text;
}

std::string described(const Flag& flag) {
    std::string text = flag.help;
    if (!flag.fallback.empty()) text.append(" (default: ").append(flag.fallback).append(")");
    if (!flag.variable.empty()) text.append(" [").append(flag.variable).append("]");
    return text;
}

void write_wrapped(std::ostream& out, const std::string& text) {
    std::size_t column = kHelpColumn;
    for (const std::string& word : split(text, ' ')) {
        if (column > kHelpColumn && column + 1 + word.size() > kLineWidth) {
            out << '\n' << std::string(kHelpColumn, ' ');
            column = kHelpColumn;
        }
        if (column > kHelpColumn) {
            out << ' ';
            ++column;
        }
        out << word;
        column += word.size();
    }
    out << '\n';
}

void write_flag(std::ostream& out, const Flag& flag) {
    const std::string names = std::string("  ").append(spelled(flag));
    out << names;
    if (names.size() + 2 > kHelpColumn) {
        out << '\n' << std::string(kHelpColumn, ' ');
    } else {
        out << std::string(kHelpColumn - names.size(), ' ');
    }
    write_wrapped(out, described(flag));
}

std::string in_cell(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (c == '|' || c == '*' || c == '\\' || c == '<') out.push_back('\\');
        out.push_back(c);
    }
    return out;
}

std::string as_code(const std::string& text) {
    if (text.empty()) return {};
    std::string out("`");
    for (const char c : text) {
        if (c == '|') out.push_back('\\');
        out.push_back(c);
    }
    out.push_back('`');
    return out;
}

}  // namespace

std::string_view title_of(Group group) {
    switch (group) {
        case Group::general:
            return "General";
        case Group::model:
            return "Model";
        case Group::context:
            return "Context, slots and threads";
        case Group::server:
            return "Server";
        case Group::preempt:
            return "Parking";
        case Group::limits:
            return "Limits";
        case Group::sampling:
            return "Sampling defaults";
        case Group::chat:
            return "Chat";
        case Group::log:
            return "Log";
    }
    return "";
}

std::string help_text() {
    std::ostringstream out;
    out << "Usage: kvalet [serve] -m FILE [flags]\n\n"
           "Serves a language model over HTTP, as llama-server does, and parks requests when the KV pool is "
           "full.\n"
           "Flags win over the variables in [brackets], those over the config files "
           "/etc/llama.cpp/config.ini and\n"
           "~/.config/llama.cpp/config.ini. --a_b is --a-b, --flag value is --flag=value; a switch takes\n"
           "on, enabled, true, 1 or off, disabled, false, 0 as its value and is on without one.\n";
    for (const Group group : kGroups) {
        out << '\n' << title_of(group) << ":\n";
        for (const Flag& flag : all_flags()) {
            if (flag.group == group) write_flag(out, flag);
        }
    }
    return out.str();
}

std::string flags_markdown() {
    std::ostringstream out;
    out << "# Flags\n\n"
           "Made by `kvalet flags`; a test keeps it true. Flags win over variables, variables over the "
           "config files\n"
           "`/etc/llama.cpp/config.ini` and `~/.config/llama.cpp/config.ini` (keys are flags without their "
           "dashes).\n"
           "`--a_b` is `--a-b`, `--flag value` is `--flag=value`. A switch is on without a value; with one "
           "it takes\n"
           "`on`, `enabled`, `true`, `1` or `off`, `disabled`, `false`, `0`. A switch that has a `--no-` "
           "form is also\n"
           "put off by its variable with `NO_`: `LLAMA_ARG_NO_REPACK`. A variable set to nothing is not "
           "set.\n\n"
           "`LLAMA_SERVER_PREEMPT_EVERY=N` parks every request each N tokens: a knob for tests.\n";
    for (const Group group : kGroups) {
        out << "\n## " << title_of(group)
            << "\n\n| flag | variable | default | meaning |\n|---|---|---|---|\n";
        for (const Flag& flag : all_flags()) {
            if (flag.group != group) continue;
            out << "| " << as_code(spelled(flag)) << " | " << as_code(flag.variable) << " | "
                << as_code(flag.fallback) << " | " << in_cell(flag.help) << " |\n";
        }
    }
    out << "\n## Known to llama-server, not available yet\n\n"
           "Each of these ends the start with a line that names it, unless its value asks for nothing.\n\n"
           "| flag | accepted values |\n|---|---|\n";
    for (const NotYet& flag : not_yet_flags()) {
        std::string names(flag.names);
        if (!flag.negative.empty()) names.append(" ").append(flag.negative);
        const std::string accepted =
            flag.harmless == "*" ? "all, without effect" : as_code(std::string(flag.harmless));
        out << "| " << as_code(names) << " | " << accepted << " |\n";
    }
    return out.str();
}

}  // namespace kvalet::cli
