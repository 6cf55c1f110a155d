// From what somebody wrote to the flag that it means.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/flag.h"
#include "cli/not_yet.h"

namespace kvalet::cli {

/// Exactly one of the two pointers is set.
struct Spelling {
    const Flag* flag = nullptr;
    const NotYet* not_yet = nullptr;
    bool negative = false;  // means "off"

    [[nodiscard]] bool is_switch() const {
        return flag != nullptr ? flag->is_switch() : not_yet->values == 0;
    }
};

class Spellings {
  public:
    Spellings();
    /// `written` with its dashes; underscores of a long flag count as dashes. Null when nobody knows it.
    [[nodiscard]] const Spelling* find(std::string_view written) const;
    /// `key` of a config file: a spelling without dashes, or the name of a variable.
    [[nodiscard]] const Spelling* find_key(std::string_view key) const;
    /// The known spelling that looks most like `written`; empty when none is near.
    [[nodiscard]] std::string nearest(std::string_view written) const;
    /// Of an argument "name=value" that is a known flag: where the '=' is; else npos.
    [[nodiscard]] std::size_t equals_of(std::string_view argument) const;

  private:
    void add(const std::string& written, Spelling spelling);
    std::map<std::string, Spelling, std::less<>> by_spelling_;
    std::map<std::string, Spelling, std::less<>> by_key_;
};

/// Built once.
[[nodiscard]] const Spellings& spellings();

/// LLAMA_ARG_X -> LLAMA_ARG_NO_X; empty for a variable of another form.
[[nodiscard]] std::string negative_variable(std::string_view variable);

/// "off" for "on" and the other way round, for a spelling that means "off"; what is no switch value stays.
[[nodiscard]] std::string inverted(const std::string& value);

}  // namespace kvalet::cli
