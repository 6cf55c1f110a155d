#include "http/url.h"

#include <gtest/gtest.h>

namespace kvalet::http {
namespace {

TEST(Url, DecodesPathAndQuery) {
    const auto target = parse_target("/a%20b/c+d?x=1+2&y=%26%3d&z&=v&&k=a=b");
    ASSERT_TRUE(target);
    EXPECT_EQ(target->path, "/a b/c+d");
    const std::vector<std::pair<std::string, std::string>> expected{
        {"x", "1 2"}, {"y", "&="}, {"z", ""}, {"", "v"}, {"k", "a=b"}};
    EXPECT_EQ(target->query, expected);
}

TEST(Url, TakesTheAbsoluteForm) {
    EXPECT_EQ(parse_target("http://host:80/v1/models?a=b")->path, "/v1/models");
    EXPECT_EQ(parse_target("HTTPS://host")->path, "/");
    EXPECT_EQ(parse_target("http://host?a=b")->query.at(0).second, "b");
    EXPECT_EQ(parse_target("*")->path, "*");
}

TEST(Url, RefusesOtherForms) {
    EXPECT_FALSE(parse_target(""));
    EXPECT_FALSE(parse_target("host:443"));
    EXPECT_FALSE(parse_target("ftp://host/a"));
    EXPECT_FALSE(parse_target("/a%00b"));
    EXPECT_FALSE(parse_target("/a%0ab"));
}

TEST(Url, LeavesInvalidEscapesAlone) {
    EXPECT_EQ(percent_decode("%zz%4", false), "%zz%4");
    EXPECT_EQ(percent_decode("%41%", false), "A%");
    EXPECT_EQ(percent_decode("a+b", true), "a b");
    EXPECT_EQ(percent_decode("a+b", false), "a+b");
}

TEST(Url, DropsTheFragment) {
    EXPECT_EQ(parse_target("/a#b?c")->path, "/a");
}

}  // namespace
}  // namespace kvalet::http
