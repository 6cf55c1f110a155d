#include "text/stop_matcher.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace kvalet::text {
namespace {

using Words = std::vector<std::string>;

/// The same by looking at the whole text again after each piece.
class NaiveMatcher {
  public:
    explicit NaiveMatcher(Words words) : words_(std::move(words)) {}

    std::optional<StopMatcher::Match> push(const std::string& piece) {
        text_ += piece;
        std::optional<StopMatcher::Match> first;
        for (std::size_t w = 0; w < words_.size(); ++w) {
            const std::size_t at = words_[w].empty() ? std::string::npos : text_.find(words_[w]);
            if (at != std::string::npos && (!first || at < first->begin)) {
                first = StopMatcher::Match{at, w};
            }
        }
        return first;
    }

    [[nodiscard]] std::size_t held() const {
        std::size_t most = 0;
        for (const std::string& w : words_) {
            for (std::size_t n = 1; n < w.size(); ++n) {
                if (n <= text_.size() && text_.ends_with(w.substr(0, n))) {
                    most = std::max(most, n);
                }
            }
        }
        return most;
    }

  private:
    Words words_;
    std::string text_;
};

TEST(StopMatcher, WithoutWordsHoldsNothing) {
    StopMatcher m{Words{}};
    EXPECT_FALSE(m.push("anything"));
    EXPECT_EQ(m.held(), 0U);
    StopMatcher empty{Words{""}};
    EXPECT_FALSE(empty.push("anything"));
    EXPECT_EQ(empty.held(), 0U);
}

TEST(StopMatcher, FindsAWordAcrossPieces) {
    StopMatcher m{Words{"<|end|>"}};
    EXPECT_FALSE(m.push("hello <"));
    EXPECT_EQ(m.held(), 1U);
    EXPECT_FALSE(m.push("|en"));
    EXPECT_EQ(m.held(), 4U);
    const auto match = m.push("d|> more");
    ASSERT_TRUE(match);
    EXPECT_EQ(match->begin, 6U);
    EXPECT_EQ(match->word, 0U);
}

TEST(StopMatcher, LetsGoOfWhatDidNotBecomeAWord) {
    StopMatcher m{Words{"aab"}};
    EXPECT_FALSE(m.push("aa"));
    EXPECT_EQ(m.held(), 2U);
    EXPECT_FALSE(m.push("a"));  // "aaa": the last two could still begin it
    EXPECT_EQ(m.held(), 2U);
    EXPECT_FALSE(m.push("c"));
    EXPECT_EQ(m.held(), 0U);
}

TEST(StopMatcher, TakesTheWordThatBeginsFirst) {
    const auto match = StopMatcher{Words{"cd", "bcde"}}.push("abcdef");
    ASSERT_TRUE(match);
    EXPECT_EQ(match->begin, 1U);
    EXPECT_EQ(match->word, 1U);
}

TEST(StopMatcher, OfTwoThatBeginTogetherTakesTheOneListedFirst) {
    EXPECT_EQ(StopMatcher(Words{"abc", "ab"}).push("xabc")->word, 0U);
    EXPECT_EQ(StopMatcher(Words{"ab", "abc"}).push("xabc")->word, 0U);
    EXPECT_EQ(StopMatcher(Words{"ab", "ab"}).push("xab")->word, 0U);
}

TEST(StopMatcher, AShortWordThatIsCompleteWinsOverALongerOneThatIsNot) {
    StopMatcher m{Words{"abcd", "bc"}};
    const auto match = m.push("abc");
    ASSERT_TRUE(match);
    EXPECT_EQ(match->begin, 1U);
    EXPECT_EQ(match->word, 1U);
}

TEST(StopMatcher, KnowsBytesAboveAscii) {
    const auto match = StopMatcher{Words{"\xC3\xA9t\xC3\xA9"}}.push("l'\xC3\xA9t\xC3\xA9");
    ASSERT_TRUE(match);
    EXPECT_EQ(match->begin, 2U);
}

TEST(StopMatcher, AgreesWithANaiveSearchOnRandomTextInRandomPieces) {
    EXPECT_TRUE(rc::check([] {
        // Few letters and short words, so that words overlap, contain each other and nearly match all the
        // time.
        const auto letters = [](int most) {
            return rc::gen::resize(most, rc::gen::container<std::string>(rc::gen::element('a', 'b', 'c')));
        };
        const auto words = *rc::gen::resize(5, rc::gen::container<Words>(letters(5)));
        const auto pieces = *rc::gen::resize(30, rc::gen::container<Words>(letters(4)));
        StopMatcher matcher(words);
        NaiveMatcher naive(words);
        for (const std::string& piece : pieces) {
            const auto got = matcher.push(piece);
            const auto want = naive.push(piece);
            RC_ASSERT(got.has_value() == want.has_value());
            if (got) {
                RC_ASSERT(got->begin == want->begin);
                RC_ASSERT(got->word == want->word);
                RC_TAG("matched");
                return;
            }
            RC_ASSERT(matcher.held() == naive.held());
        }
        RC_TAG("not matched");
    }));
}

TEST(StopMatcher, WorkDoesNotGrowWithTheText) {
    // A word that nearly matches everywhere: a search that begins again at each byte takes 10^10 steps for
    // this.
    StopMatcher m{Words{std::string(20000, 'a') + "b"}};
    const std::string piece(1000, 'a');
    for (int i = 0; i < 1000; ++i) {
        ASSERT_FALSE(m.push(piece));
    }
    EXPECT_EQ(m.held(), 20000U);
    ASSERT_TRUE(m.push("b"));
}

TEST(StopMatcher, TakesWordsUpToTheLimit) {
    Words many;
    for (std::size_t i = 0; i < kMaxStopBytes / 8; ++i) {
        std::string word = std::to_string(i);
        word.insert(0, 8 - word.size(), 'x');
        many.push_back(word);
    }
    StopMatcher m{many};
    const auto match = m.push("xxxxxxxxxx77 and more");
    ASSERT_TRUE(match);
    EXPECT_EQ(many[match->word], "xxxxxxx7");  // it begins before "xxxxxx77"
    EXPECT_DEATH(StopMatcher(Words{std::string(kMaxStopBytes + 1, 'a')}), "checked where a request comes in");
}

}  // namespace
}  // namespace kvalet::text
