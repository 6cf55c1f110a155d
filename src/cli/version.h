// Which build this is.
#pragma once

#include <string>

namespace kvalet::cli {

/// llama-server's form, "b<number>-<commit>": clients look for it as the system_fingerprint.
[[nodiscard]] std::string build_info();

/// "version: 0.1.0 (b123-0123abcd)".
[[nodiscard]] std::string version_text();

}  // namespace kvalet::cli
