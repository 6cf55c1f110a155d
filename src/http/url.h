// The target of a request line, taken apart.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvalet::http {

struct Target {
    std::string path;                                        // decoded; "*" for the asterisk form
    std::vector<std::pair<std::string, std::string>> query;  // decoded, in order
};

/// Origin form ("/a?b=c"), absolute form ("http://host/a?b=c") and "*". Nothing for anything else, and for a
/// path that holds a control character once decoded: such a path is no route of ours and must not reach a log
/// or a file name.
[[nodiscard]] std::optional<Target> parse_target(std::string_view target);

/// Undoes %XX; what is no valid escape stays as it is, as most servers do. In a query "+" is a space.
[[nodiscard]] std::string percent_decode(std::string_view text, bool plus_is_space);

}  // namespace kvalet::http
