#include "text/grammar_check.h"

#include <gtest/gtest.h>
#include <string>

namespace kvalet::text {
namespace {

std::string nested(std::size_t depth) {
    return "root ::= " + std::string(depth, '(') + "\"a\"" + std::string(depth, ')');
}

TEST(CheckGrammarLimits, TakesOrdinaryGrammars) {
    EXPECT_TRUE(check_grammar_limits("root ::= \"a\" | [b-d]+ # a comment").ok());
    EXPECT_TRUE(check_grammar_limits("").ok());
    EXPECT_TRUE(check_grammar_limits(nested(kMaxGrammarNesting)).ok());
}

TEST(CheckGrammarLimits, RefusesDeepNesting) {
    const Status status = check_grammar_limits(nested(kMaxGrammarNesting + 1));
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().kind, ErrorKind::invalid_request);
    EXPECT_NE(status.error().message.find("'grammar'"), std::string::npos);
}

TEST(CheckGrammarLimits, ParenthesesInStringsClassesAndCommentsDoNotNest) {
    const std::string many(kMaxGrammarNesting + 1, '(');
    EXPECT_TRUE(check_grammar_limits("root ::= \"" + many + "\"").ok());
    EXPECT_TRUE(check_grammar_limits("root ::= \"\\\"" + many + "\"").ok());
    EXPECT_TRUE(check_grammar_limits("root ::= [\\]" + many + "]").ok());
    EXPECT_TRUE(check_grammar_limits("# " + many + "\nroot ::= \"a\"").ok());
    EXPECT_FALSE(check_grammar_limits("# \r" + many).ok());  // a comment ends at either kind of line end
    EXPECT_FALSE(check_grammar_limits("root ::= \"a\" [b] " + many).ok());
}

TEST(CheckGrammarLimits, RefusesNulAndSize) {
    EXPECT_FALSE(check_grammar_limits(std::string("root ::= \"a\"\0", 13)).ok());
    EXPECT_TRUE(check_grammar_limits(std::string(kMaxGrammarBytes, ' ')).ok());
    EXPECT_FALSE(check_grammar_limits(std::string(kMaxGrammarBytes + 1, ' ')).ok());
}

}  // namespace
}  // namespace kvalet::text
