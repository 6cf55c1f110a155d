#include "cli/logging.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>
#include <sstream>

#include "parse_helper.h"

namespace kvalet::cli {
namespace {

class LoggingTest : public ::testing::Test {
  protected:
    ~LoggingTest() override { Logging::stop(); }

    void start(LogOptions options) {
        options.file = file_;
        ASSERT_TRUE(Logging::start(options).ok());
    }

    /// What was written to the file; ends the log.
    std::string written() {
        Logging::stop();
        std::ifstream file(file_);
        std::ostringstream text;
        text << file.rdbuf();
        return text.str();
    }

    static void write_one_of_each() {
        spdlog::critical("six");
        spdlog::error("five");
        spdlog::warn("four");
        spdlog::info("three");
        spdlog::debug("two");
        spdlog::trace("one");
    }

    TempDir dir_;
    std::string file_ = dir_.path() + "/k.log";
};

LogOptions bare(int verbosity) {
    LogOptions options;
    options.verbosity = verbosity;
    options.prefix = false;
    options.timestamps = false;
    return options;
}

TEST_F(LoggingTest, VerbosityChoosesLevels) {
    const std::string lines[] = {"six\n", "five\n", "four\n", "three\n", "two\n", "one\n"};
    std::string expected;
    for (int verbosity = 0; verbosity <= 5; ++verbosity) {
        expected += lines[verbosity];
        file_ = dir_.path() + "/" + std::to_string(verbosity);
        start(bare(verbosity));
        write_one_of_each();
        EXPECT_EQ(written(), expected) << verbosity;
    }
}

TEST_F(LoggingTest, DisabledWritesNothing) {
    LogOptions options = bare(5);
    options.disabled = true;
    start(options);
    write_one_of_each();
    EXPECT_EQ(written(), "");
}

TEST_F(LoggingTest, PrefixAndTime) {
    LogOptions options;
    start(options);
    spdlog::warn("hello");
    const std::string line = written();
    EXPECT_EQ(line.substr(line.size() - 8), "W hello\n");
    EXPECT_EQ(line.size(), std::string("2025-01-31 12:34:56.789 W hello\n").size());
}

TEST_F(LoggingTest, JsonLinesAreJson) {
    LogOptions options;
    options.jsonl = true;
    start(options);
    spdlog::info("a \"quoted\" \\ line\nwith {braces} and \xff bytes");
    std::istringstream lines(written());
    std::string line;
    ASSERT_TRUE(std::getline(lines, line));
    const nlohmann::json object = nlohmann::json::parse(line);
    EXPECT_EQ(object.at("level"), "info");
    EXPECT_EQ(object.at("message").get<std::string>(),
              "a \"quoted\" \\ line\nwith {braces} and \xef\xbf\xbd bytes");
    EXPECT_GT(object.at("timestamp").get<double>(), 1.7e9);
    EXPECT_FALSE(std::getline(lines, line));
}

TEST_F(LoggingTest, AFileThatCannotBeWritten) {
    LogOptions options;
    options.file = dir_.path();  // a folder
    const Status started = Logging::start(options);
    ASSERT_FALSE(started.ok());
    EXPECT_EQ(started.error().message, "--log-file: cannot write " + options.file);
}

TEST_F(LoggingTest, WritingAfterTheEndIsHarmless) {
    start(bare(5));
    EXPECT_EQ(written(), "");
    spdlog::info("too late");
    Logging::stop();
}

TEST_F(LoggingTest, LibllamaIsQuietUnlessAsked) {
    start(bare(3));
    const auto log = libllama_log();
    log(engine::LogLevel::debug, "d");
    log(engine::LogLevel::info, "i");
    log(engine::LogLevel::warning, "w\n");
    log(engine::LogLevel::error, "e\x1b[31m");
    EXPECT_EQ(written(), "libllama: w\nlibllama: e [31m\n");
}

TEST_F(LoggingTest, OneLineForEachParkAndResume) {
    start(bare(3));
    LogObserver observer;
    engine::ParkRecord park;
    park.task = TaskId{12};
    park.slot = SlotId{3};
    park.reason = sched::ParkReason::forced;
    park.mode = sched::ParkMode::drop;
    park.cells = Cells{512};
    park.bytes = Bytes{1234};
    park.ms = 1.256;
    park.parks = 2;
    park.free_before = Cells{3};
    park.free_after = Cells{515};
    observer.on_park(park);
    engine::ResumeRecord resume;
    resume.task = TaskId{12};
    resume.slot = SlotId{1};
    resume.cells = Cells{512};
    resume.bytes = Bytes{1234};
    resume.ms = 0.5;
    resume.parked_ms = 1500.4;
    resume.parks = 2;
    resume.free_before = Cells{600};
    resume.free_after = Cells{88};
    observer.on_resume(resume);
    EXPECT_EQ(
        written(),
        "park task=12 slot=3 reason=forced mode=recompute cells=512 bytes=1234 ms=1.26 parks=2 free=3->515\n"
        "resume task=12 slot=1 mode=swap cells=512 bytes=1234 ms=0.50 parked_ms=1500 parks=2 free=600->88\n");
}

}  // namespace
}  // namespace kvalet::cli
