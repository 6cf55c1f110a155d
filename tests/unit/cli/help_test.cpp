// --help and docs/flags.md say everything, once.
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

#include "cli/flag.h"
#include "parse_helper.h"

namespace kvalet::cli {
namespace {

TEST(Help, MentionsEveryFlagInItsGroup) {
    const std::string help = help_text();
    std::vector<std::size_t> starts;
    for (const Group group : kGroups) {
        const std::size_t at = help.find(std::string(1, '\n').append(title_of(group)).append(":\n"));
        ASSERT_NE(at, std::string::npos) << title_of(group);
        if (!starts.empty()) {
            EXPECT_GT(at, starts.back());
        }
        starts.push_back(at);
    }
    starts.push_back(help.size());
    for (const Flag& flag : all_flags()) {
        const auto group = static_cast<std::size_t>(
            std::find(std::begin(kGroups), std::end(kGroups), flag.group) - std::begin(kGroups));
        const std::string part = help.substr(starts[group], starts[group + 1] - starts[group]);
        std::vector<std::string> names = flag.others;
        names.push_back(std::string("--").append(flag.name));
        names.insert(names.end(), flag.negative.begin(), flag.negative.end());
        for (const std::string& name : names) {
            const auto followed_by = [&](const char* after) {
                return part.find(std::string(1, ' ').append(name).append(after)) != std::string::npos;
            };
            const bool found = followed_by(" ") || followed_by(",") || followed_by("\n");
            EXPECT_TRUE(found) << name;
        }
        if (!flag.variable.empty()) {
            EXPECT_NE(part.find(std::string(1, '[').append(flag.variable).append("]")), std::string::npos)
                << flag.variable;
        }
    }
}

TEST(Help, FitsATerminal) {
    std::istringstream lines(help_text());
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 110U) << line;
}

// A default that --help names is one that the flag takes, and giving it changes nothing that --help would
// show.
TEST(Help, DefaultsAreValidValues) {
    for (const Flag& flag : all_flags()) {
        if (flag.fallback.empty()) continue;
        const std::string argument = std::string("--").append(flag.name).append("=").append(flag.fallback);
        EXPECT_EQ(error_of({argument}), "") << argument;
    }
}

TEST(Help, DocsTableIsUpToDate) {
    std::ifstream file(KVALET_SOURCE_DIR "/docs/flags.md");
    std::ostringstream text;
    text << file.rdbuf();
    EXPECT_EQ(text.str(), flags_markdown()) << "run: kvalet flags > docs/flags.md";
}

}  // namespace
}  // namespace kvalet::cli
