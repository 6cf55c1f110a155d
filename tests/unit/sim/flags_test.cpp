// `kvalet simulate` as one types it.
#include <gtest/gtest.h>
#include <sstream>

#include "cli/simulate.h"

namespace kvalet::test {
namespace {

struct Outcome {
    int code;
    std::string out, err;
};

Outcome typed(const std::string& line) {
    std::istringstream split(line);
    const std::vector<std::string> args(std::istream_iterator<std::string>(split), {});
    std::ostringstream out, err;
    const int code = cli::simulate(args, out, err);
    return {code, out.str(), err.str()};
}

TEST(SimulateFlags, RunsTwiceTheSame) {
    const Outcome a = typed("--requests 100 --seed 5 --preset swap,default --budgets 8192,1");
    const Outcome b =
        typed("--seed=5 --requests=100 --preset swap --preset default --budgets 8192 --budgets 1");
    EXPECT_EQ(a.code, 0) << a.err;
    EXPECT_EQ(a.out, b.out);
    EXPECT_EQ(std::count(a.out.begin(), a.out.end(), '\n'), 2 + 3 + 1) << a.out;
}

TEST(SimulateFlags, TheMachineIsAMatterOfFlags) {
    const Outcome slow = typed("--requests 50 --preset swap --decode-us 9000 --row-us 0 --copy-rate 1");
    const Outcome quick = typed("--requests 50 --preset swap --decode-us 10 --row-us 0 --prompt-rate 0");
    EXPECT_EQ(slow.code, 0) << slow.err;
    EXPECT_EQ(quick.code, 0) << quick.err;
    EXPECT_NE(slow.out, quick.out);
}

TEST(SimulateFlags, SaysWhatItDoesNotUnderstand) {
    EXPECT_EQ(typed("--requests many").code, 1);
    EXPECT_NE(typed("--requests many").err.find("requests"), std::string::npos);
    EXPECT_EQ(typed("--preset swop").err, "kvalet simulate: there is no preset swop\n");
    EXPECT_EQ(typed("--colour").code, 1);
    EXPECT_EQ(typed("-c 100 --prompt-max 200").code, 1);
    EXPECT_EQ(typed("--parallel 0").code, 1);
    EXPECT_EQ(typed("--scenario /nowhere.txt").err, "kvalet simulate: cannot read /nowhere.txt\n");
}

TEST(SimulateFlags, HelpNamesTheFlagsButNotTheFaults) {
    const Outcome o = typed("--help");
    EXPECT_EQ(o.code, 0);
    EXPECT_NE(o.out.find("--seed"), std::string::npos);
    EXPECT_NE(o.out.find("--copy-rate"), std::string::npos);
    EXPECT_EQ(o.out.find("--break"), std::string::npos);
}

TEST(SimulateFlags, AFaultOnPurposeFails) {
    const Outcome o = typed("--requests 100 --seed 5 --preset swap --break wrong-token --break-at 30");
    EXPECT_EQ(o.code, 1);
    EXPECT_NE(o.err.find("seed 5 preset swap budget -1 step "), std::string::npos) << o.err;
}

}  // namespace
}  // namespace kvalet::test
