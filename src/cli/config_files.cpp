#include <filesystem>

#include "cli/sources.h"
#include "cli/spellings.h"
#include "cli/values.h"

namespace kvalet::cli {

namespace {

struct Line {
    std::string key;
    std::string value;
};

/// Comments begin with ; or # anywhere in a line, as in llama-server.
std::string without_comment(const std::string& line) {
    return trim(line.substr(0, line.find_first_of(";#")));
}

void read_line(const std::string& path, const Line& line, Assignments& out,
               std::vector<std::string>& warnings) {
    if (line.key == "version") return;  // reserved by llama-server
    const Spelling* known = spellings().find_key(line.key);
    if (known == nullptr) {
        warnings.push_back(path + ": " + line.key + " is not known to Kvalet and is ignored");
        return;
    }
    const std::string value = known->negative ? inverted(line.value) : line.value;
    if (known->flag != nullptr) {
        out.push_back({known->flag, value, path + ": " + line.key});
    } else if (!is_harmless(*known->not_yet, value)) {
        warnings.push_back(path + ": " + line.key + " is not available in Kvalet yet and is ignored");
    }
}

}  // namespace

Assignments read_config_files(const std::vector<std::string>& paths, std::vector<std::string>& warnings) {
    Assignments all;
    for (const std::string& path : paths) {
        std::error_code ignored;
        if (!std::filesystem::exists(path, ignored)) continue;
        const Result<std::string> text = read_file(path);
        if (!text) {
            warnings.push_back(path + ": " + text.error().message);
            continue;
        }
        Assignments found;
        bool ours = true;
        for (const std::string& raw : split(*text, '\n')) {
            const std::string line = without_comment(raw);
            if (line.empty()) continue;
            if (line.front() == '[') {
                const std::string section = trim(line.substr(1, line.find(']') - 1));
                ours = section == "default" || section == "*";
                continue;
            }
            const std::size_t at = line.find('=');
            if (at == std::string::npos) {
                warnings.push_back(path + ": " + in_message(line) + " is no KEY = VALUE and is ignored");
            } else if (ours) {
                read_line(path, {trim(line.substr(0, at)), trim(line.substr(at + 1))}, found, warnings);
            }
        }
        for (Assignment& assignment : found) {
            // A later file replaces what an earlier one says, also of flags that may be given several times.
            std::erase_if(all, [&](const Assignment& a) {
                return a.flag == assignment.flag && !a.source.starts_with(path + ": ");
            });
            all.push_back(std::move(assignment));
        }
    }
    return all;
}

}  // namespace kvalet::cli
