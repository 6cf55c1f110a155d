// Flags that llama-server knows and Kvalet does not have: an operator who brings a command line along learns
// which of them to leave out, instead of being told that they are unknown or having them silently ignored.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kvalet::cli {

struct NotYet {
    std::string_view
        names;  // all spellings with their dashes, between blanks; the first long one is the name
    std::string_view variable;  // empty: none
    int values = 1;             // how many arguments it takes
    std::string_view harmless;  // values that ask for nothing, between blanks; "*": all of them
    std::string_view negative;  // spellings that mean "off", between blanks
};

[[nodiscard]] const std::vector<NotYet>& not_yet_flags();

/// Whether `value` asks for nothing that is missing.
[[nodiscard]] bool is_harmless(const NotYet& flag, std::string_view value);
/// The first long spelling, with its dashes.
[[nodiscard]] std::string_view name_of(const NotYet& flag);

}  // namespace kvalet::cli
