// Parsing with an environment of the test's own: nothing of the machine's gets in.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "cli/options.h"

namespace kvalet::cli {

using Variables = std::map<std::string, std::string>;

inline Result<Parsed> parse(const std::vector<std::string>& args, const Variables& variables = {},
                            const std::vector<std::string>& config_files = {}) {
    Environment environment;
    environment.variable = [&variables](const std::string& name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        if (found == variables.end()) return std::nullopt;
        return found->second;
    };
    environment.config_files = config_files;
    environment.cores = 8;
    return parse_options(args, environment);
}

/// The message of a start that fails; "" when it does not.
inline std::string error_of(const std::vector<std::string>& args, const Variables& variables = {}) {
    const Result<Parsed> parsed = parse(args, variables);
    return parsed.ok() ? "" : parsed.error().message;
}

/// A folder that goes away with the test.
class TempDir {
  public:
    TempDir() {
        std::string pattern = (std::filesystem::temp_directory_path() / "kvalet-cli-XXXXXX").string();
        path_ = ::mkdtemp(pattern.data());
    }
    ~TempDir() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TempDir(const TempDir&) = delete;
    TempDir& operator=(const TempDir&) = delete;

    [[nodiscard]] std::string path() const { return path_; }
    [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
        const std::string path = path_ + "/" + name;
        std::ofstream(path, std::ios::binary) << text;
        return path;
    }

  private:
    std::string path_;
};

}  // namespace kvalet::cli
