// The three places where values come from, each read into a list of assignments; nothing is applied here.
#pragma once

#include <string>
#include <vector>

#include "cli/flag.h"

namespace kvalet::cli {

struct Assignment {
    const Flag* flag = nullptr;
    std::string value;
    std::string source;  // what a message calls it: "--parallel", "LLAMA_ARG_N_PARALLEL", "FILE: parallel"
};
using Assignments = std::vector<Assignment>;

/// Sections of the file: none, [default] and [*]; others belong to llama-server's router and are skipped. The
/// files are shared by all programs of llama.cpp: a key that Kvalet does not have is a warning, never an
/// error.
[[nodiscard]] Assignments read_config_files(const std::vector<std::string>& paths,
                                            std::vector<std::string>& warnings);
/// A variable that is set to nothing counts as not set.
[[nodiscard]] Result<Assignments> read_variables(const Environment& environment);
/// In the order in which they were given.
[[nodiscard]] Result<Assignments> read_arguments(const std::vector<std::string>& args);

}  // namespace kvalet::cli
