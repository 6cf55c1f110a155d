// Grammars on the real vocabulary: whatever the logits say, the text is grammatical.
#include <cmath>
#include <gtest/gtest.h>
#include <string_view>

#include "loaded_model.h"

namespace kvalet::text {
namespace {

class GrammarTest : public ModelTest {
  protected:
    struct Output {
        std::string text;
        StopType stop = StopType::none;
        int n = 0;
    };

    /// Random logits until the end, or max_tokens.
    Output generate(const SamplingParams& p, int max_tokens) const {
        const auto generation = this->generation(p);
        Output out;
        while (out.stop == StopType::none && out.n < max_tokens) {
            const Piece piece = generation->next(random_row(), {});
            out.text += piece.text;
            out.stop = piece.stop;
            ++out.n;
        }
        return out;
    }
};

constexpr const char* kList = R"(root ::= "[" (item (", " item)*)? "]"
item ::= [0-9] | "\"" [a-z]? "\""
)";

/// Whether the text is a list by kList, read by hand.
bool is_list(std::string_view s) {
    const auto item = [&s] {
        if (s.empty()) {
            return false;
        }
        if (s.front() >= '0' && s.front() <= '9') {
            s.remove_prefix(1);
            return true;
        }
        if (s.front() != '"') {
            return false;
        }
        s.remove_prefix(1);
        if (!s.empty() && s.front() >= 'a' && s.front() <= 'z') {
            s.remove_prefix(1);
        }
        const bool closed = s.starts_with('"');
        s.remove_prefix(closed ? 1 : 0);
        return closed;
    };
    if (!s.starts_with('[')) {
        return false;
    }
    s.remove_prefix(1);
    if (s == "]") {
        return true;
    }
    if (!item()) {
        return false;
    }
    while (s.starts_with(", ")) {
        s.remove_prefix(2);
        if (!item()) {
            return false;
        }
    }
    return s == "]";
}

TEST_F(GrammarTest, OnlyGrammaticalTextComesOut) {
    for (const float temperature : {0.0F, 1.0F, 3.0F}) {
        for (std::uint32_t seed = 1; seed <= 5; ++seed) {
            SamplingParams p;
            p.grammar = kList;
            p.temperature = temperature;
            p.seed = seed;
            const Output out = generate(p, 400);
            ASSERT_EQ(out.stop, StopType::eos) << out.text;
            EXPECT_TRUE(is_list(out.text)) << out.text;
        }
    }
}

TEST_F(GrammarTest, OnlyGrammaticalTextComesOutOfEveryKindOfChain) {
    std::vector<SamplingParams> all(7);
    all[1].repeat_penalty = 1.3F;
    all[2].mirostat = 1;
    all[3].mirostat = 2;
    all[4].top_k = 0;
    all[5].samplers = {"min_p", "adaptive_p"};
    all[5].adaptive_target = 0.3F;
    all[6].xtc_probability = 1.0F;
    all[6].xtc_threshold = 0.01F;
    for (SamplingParams& p : all) {
        p.grammar = kList;
        p.seed = 5;
        const Output out = generate(p, 1000);
        ASSERT_EQ(out.stop, StopType::eos) << out.text;
        EXPECT_TRUE(is_list(out.text)) << out.text;
    }
}

TEST_F(GrammarTest, ATokenThatFitsIsTakenWithoutLookingFurther) {
    SamplingParams p;
    p.grammar = "root ::= \"yes\" | \"no\"";
    p.temperature = 0.0F;
    const auto generation = this->generation(p);
    const Piece piece = generation->next(row_for(tokens("no").front()), {});
    EXPECT_EQ(piece.text, "no");
    EXPECT_EQ(piece.stop, StopType::none);
    EXPECT_EQ(generation->next(row_for(tokens("maybe").front()), {}).stop, StopType::eos);
}

TEST_F(GrammarTest, ThePromptIsNotTheGrammars) {
    SamplingParams p;
    p.grammar = "root ::= \"x\"";
    p.repeat_penalty = 1.1F;  // so that something looks at the prompt
    const auto generation = this->generation(p);
    generation->begin(tokens("not in the grammar"));
    EXPECT_EQ(generation->next(random_row(), {}).text, "x");
}

TEST_F(GrammarTest, ReportsTheProbabilitiesOfTheRawLogits) {
    SamplingParams p;
    p.grammar = "root ::= \"x\"";
    p.n_probs = 1;
    p.temperature = 0.0F;
    const Token other = tokens("other").front();
    const Piece piece = generation(p)->next(row_for(other), {});
    EXPECT_EQ(piece.text, "x");
    EXPECT_EQ(piece.probs.front().top.front().token, other);
}

TEST_F(GrammarTest, WhenNothingIsAllowedTheGenerationEnds) {
    SamplingParams p;
    p.grammar = "root ::= \"x\"";
    p.ignore_eos = true;  // and after "x" only the end is grammatical
    const auto generation = this->generation(p);
    EXPECT_EQ(generation->next(random_row(), {}).text, "x");
    const Piece end = generation->next(random_row(), {});
    EXPECT_EQ(end.stop, StopType::eos);
    EXPECT_EQ(end.text, "");
    EXPECT_TRUE(model_->is_eog(end.token));
}

TEST_F(GrammarTest, MultibyteCharactersAreGrammaticalInParts) {
    SamplingParams p;
    p.grammar = "root ::= \"\xF0\x9F\xA6\x84\xF0\x9F\xA6\x84\"";  // no token has a whole unicorn
    const Output out = generate(p, 50);
    EXPECT_EQ(out.text, "\xF0\x9F\xA6\x84\xF0\x9F\xA6\x84");
    EXPECT_EQ(out.stop, StopType::eos);
}

TEST_F(GrammarTest, AnEmptyTextCanBeGrammatical) {
    SamplingParams p;
    p.grammar = "root ::= ";
    const Output out = generate(p, 10);
    EXPECT_EQ(out.text, "");
    EXPECT_EQ(out.stop, StopType::eos);
    EXPECT_EQ(out.n, 1);
}

TEST_F(GrammarTest, ABadGrammarIsRefusedByName) {
    for (const std::string grammar : {"root ::= undefined", "not a grammar", "start ::= \"a\"",
                                      "root ::= root \"a\"", "root ::= \"a\" )", "root ::= [a-"}) {
        SamplingParams p;
        p.grammar = grammar;
        const std::string message = refusal(p);
        EXPECT_TRUE(message.starts_with("Failed to initialize samplers: ")) << grammar;
        EXPECT_NE(message.find("grammar"), std::string::npos) << grammar;
    }
}

TEST_F(GrammarTest, TheLimitsKeepTheParserFromOverrunningTheStack) {
    SamplingParams p;
    p.grammar = "root ::= " + std::string(200, '(') + "\"a\"" + std::string(200, ')');
    EXPECT_EQ(generate(p, 10).text, "a");
    p.grammar = "root ::= " + std::string(100000, '(') + "\"a\"" + std::string(100000, ')');
    EXPECT_NE(refusal(p).find("grammar"), std::string::npos);
    // As long a chain of rules as the limit on the size lets through.
    std::string chain = "root ::= a0\n";
    int i = 0;
    for (; chain.size() < 256U * 1024U - 40; ++i) {
        chain.append("a").append(std::to_string(i)).append("::=a").append(std::to_string(i + 1)).append("\n");
    }
    p.grammar = chain.append("a").append(std::to_string(i)).append("::=\"x\"");
    EXPECT_EQ(generate(p, 10).text, "x");
}

}  // namespace
}  // namespace kvalet::text
