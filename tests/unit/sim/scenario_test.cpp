// The scenarios of tests/scenarios: three for each preset, with the order of victims and resumes that each
// must show.
#include "sim/scenario.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <sstream>

#include "sched/policy.h"
#include "sim/simulate.h"

namespace kvalet::test {
namespace {

std::vector<std::string> scenario_files() {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(KVALET_SCENARIOS)) {
        if (entry.path().extension() == ".txt") {
            files.push_back(entry.path().string());
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

class ScenarioFile : public testing::TestWithParam<std::string> {};

TEST_P(ScenarioFile, HappensAsItIsWritten) {
    sim::Options o;
    o.scenario = GetParam();
    std::ostringstream out, err;
    EXPECT_EQ(sim::simulate(o, out, err), 0) << err.str();
    const auto read = sim::read_scenario(o.scenario);
    ASSERT_TRUE(read.ok());
    EXPECT_GE(read->expected.size(), 3U) << "it expects nothing";
}

INSTANTIATE_TEST_SUITE_P(Files, ScenarioFile, testing::ValuesIn(scenario_files()), [](const auto& p) {
    std::string name = std::filesystem::path(p.param).stem().string();
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
});

TEST(ScenarioFiles, ThereAreThreeForEachPreset) {
    std::map<std::string, int> n;
    for (const std::string& file : scenario_files()) {
        const auto read = sim::read_scenario(file);
        ASSERT_TRUE(read.ok()) << read.error().message;
        ++n[read->preset];
    }
    for (const std::string_view preset : sched::kPresets) {
        EXPECT_GE(n[std::string(preset)], 3) << preset;
    }
}

std::string error_of(const char* text) {
    const auto made = sim::parse_scenario(text);
    return made.ok() ? "" : made.error().message;
}

TEST(Scenario, SaysWhichLineItDoesNotUnderstand) {
    EXPECT_EQ(error_of("at 0 ask a prompt 5 generate 5\n"), "");
    EXPECT_EQ(error_of(""), "line 0: nobody asks for anything");
    EXPECT_EQ(error_of("preset swop\n"), "line 1: there is no preset swop");
    EXPECT_EQ(error_of("\n# note\npool x\n"), "line 3: pool expects a number");
    EXPECT_EQ(error_of("speed 5\n"), "line 1: there is no setting speed");
    EXPECT_EQ(error_of("at now ask a\n"), "line 1: 'at' expects milliseconds");
    EXPECT_EQ(error_of("at 0 ask a prompt 0\n"),
              "line 1: ask knows prompt, generate and priority, not prompt 0");
    EXPECT_EQ(error_of("at 0 ask a prompt\n"), "line 1: ask expects pairs of a word and a number");
    EXPECT_EQ(error_of("at 0 leave a\n"),
              "line 1: expected ask, leave, park, unpark or priority, and the name of one that asked before");
    EXPECT_EQ(error_of("at 0 ask a prompt 5\nexpect end a 5\n"), "line 2: what is expected needs a preset");
}

TEST(Scenario, AnotherCourseThanExpectedFails) {
    const std::string path = testing::TempDir() + "kvalet-scenario-test.txt";
    std::ofstream(path) << "preset swap\nat 0 ask a prompt 5 generate 5\nexpect end a 6\n";
    sim::Options o;
    o.scenario = path;
    std::ostringstream out, err;
    EXPECT_EQ(sim::simulate(o, out, err), 1);
    EXPECT_NE(err.str().find("expect end a 5    # not: end a 6"), std::string::npos) << err.str();
    std::filesystem::remove(path);
    EXPECT_EQ(sim::simulate(o, out, err), 1) << "a file that is not there";
}

}  // namespace
}  // namespace kvalet::test
