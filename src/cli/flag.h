// One entry of the table of flags. Parsing, --help and docs/flags.md are all made from the table, so that
// they cannot contradict each other.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"

namespace kvalet::cli {

enum class Group : std::uint8_t { general, model, context, server, preempt, limits, sampling, chat, log };
constexpr Group kGroups[] = {Group::general, Group::model,    Group::context, Group::server, Group::preempt,
                             Group::limits,  Group::sampling, Group::chat,    Group::log};
[[nodiscard]] std::string_view title_of(Group group);

/// Takes one value; the error says what was expected, without the flag's name and without the value.
using Setter = std::function<Status(ServeOptions&, const std::string& value)>;

struct Flag {
    Group group = Group::general;
    std::string name;                 // long, without dashes
    std::vector<std::string> others;  // other spellings with their dashes, short ones first
    std::vector<std::string>
        negative;          // spellings that mean "off"; a switch with any also reads LLAMA_ARG_NO_…
    std::string variable;  // empty: none
    std::string value;     // what stands for the value in --help; empty: a switch
    std::string fallback;  // the default as one would write it; empty: none
    std::string help;
    Setter set;

    [[nodiscard]] bool is_switch() const { return value.empty(); }
};

/// Every flag that Kvalet has, in the order of --help. Built once.
[[nodiscard]] const std::vector<Flag>& all_flags();

/// Adds one flag. `names`: the long name without dashes, then other spellings with theirs; `negative`:
/// spellings that mean "off"; both between blanks.
void add(std::vector<Flag>& table, Group group, std::string_view names, std::string_view negative,
         std::string_view variable, std::string_view value, std::string_view fallback, std::string_view help,
         Setter set);

// The parts of the table, one file each.
void add_model_flags(std::vector<Flag>& table);
void add_context_flags(std::vector<Flag>& table);
void add_server_flags(std::vector<Flag>& table);
void add_preempt_flags(std::vector<Flag>& table);
void add_sampling_flags(std::vector<Flag>& table);
void add_log_flags(std::vector<Flag>& table);

}  // namespace kvalet::cli
