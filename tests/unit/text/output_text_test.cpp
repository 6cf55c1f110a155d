#include "text/output_text.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "text/utf8.h"

namespace kvalet::text {
namespace {

struct Output {
    std::string text;
    std::vector<std::string> pieces;
    Piece last;
    bool has_new_line = false;
};

Output run(const StopParams& stop, const std::vector<std::string>& tokens,
           const std::vector<StepFacts>& facts = {}, bool eog_at_end = false) {
    OutputText out(stop);
    Output r;
    for (std::size_t i = 0; i < tokens.size() && r.last.stop == StopType::none; ++i) {
        const bool is_last = i + 1 == tokens.size();
        out.push(tokens[i], eog_at_end && is_last, i < facts.size() ? facts[i] : StepFacts{}, r.last);
        r.text += r.last.text;
        r.pieces.push_back(r.last.text);
    }
    r.has_new_line = out.has_new_line();
    return r;
}

StopParams stop_at(std::vector<std::string> words) {
    StopParams p;
    p.stop = std::move(words);
    return p;
}

using Pieces = std::vector<std::string>;

TEST(OutputText, SendsTextAsItComes) {
    const Output r = run({}, {"Hello", ",", " world"});
    EXPECT_EQ(r.pieces, (Pieces{"Hello", ",", " world"}));
    EXPECT_EQ(r.last.stop, StopType::none);
}

TEST(OutputText, HoldsBackHalfACharacter) {
    OutputText out({});
    Piece p;
    out.push(" \xF0\x9F", false, {}, p);
    EXPECT_EQ(p.text, "");
    EXPECT_TRUE(p.incomplete_utf8);
    out.push("\x98", false, {}, p);
    EXPECT_TRUE(p.incomplete_utf8);
    out.push("\x80!", false, {}, p);
    EXPECT_EQ(p.text, " \xF0\x9F\x98\x80!");
    EXPECT_FALSE(p.incomplete_utf8);
}

TEST(OutputText, DoesNotHoldBackForeverForHalfCharacters) {
    OutputText out({});
    Piece p;
    std::string sent;
    std::string given;
    std::size_t most = 0;
    for (int i = 0; i < 1000; ++i) {
        given += "x\xC3";
        out.push("x\xC3", false, {}, p);
        EXPECT_EQ(p.incomplete_utf8, p.text.empty());
        sent += p.text;
        most = std::max(most, given.size() - sent.size());
        EXPECT_EQ(incomplete_utf8_suffix(sent), 0U);
    }
    EXPECT_LE(most, kMaxHeldForUtf8);
    EXPECT_EQ(sent, given.substr(0, sent.size()));
}

TEST(OutputText, CutsAtAStopString) {
    const Output r = run(stop_at({"###"}), {"one ", "#", "#", "# two"});
    EXPECT_EQ(r.text, "one ");
    EXPECT_EQ(r.pieces, (Pieces{"one ", "", "", ""}));
    EXPECT_EQ(r.last.stop, StopType::word);
    EXPECT_EQ(r.last.stopping_word, "###");
    EXPECT_FALSE(r.last.truncated);
}

TEST(OutputText, ReleasesWhatDidNotBecomeAStopString) {
    const Output r = run(stop_at({"###"}), {"one ", "#", "#", "x"});
    EXPECT_EQ(r.pieces, (Pieces{"one ", "", "", "##x"}));
}

TEST(OutputText, SendsTheTextBeforeAPossibleStopString) {
    const Output r = run(stop_at({"\n\n"}), {"line\n", "next"});
    EXPECT_EQ(r.pieces, (Pieces{"line", "\nnext"}));
    EXPECT_TRUE(r.has_new_line);
}

TEST(OutputText, AtTheEndNothingStaysHeldBack) {
    StopParams p = stop_at({"###"});
    p.n_predict = 2;
    const Output r = run(p, {"a#", "#"});
    EXPECT_EQ(r.text, "a##");
    EXPECT_EQ(r.last.stop, StopType::limit);
    p.n_predict = 1;
    EXPECT_EQ(run(p, {"caf\xC3"}).text, "caf\xC3");
    EXPECT_EQ(run(stop_at({"###"}), {"a#", ""}, {}, true).text, "a#");
}

TEST(OutputText, AnEndOfGenerationTokenOverridesEverything) {
    StopParams p = stop_at({"x"});
    p.n_predict = 1;
    const Output r = run(p, {"axb"}, {{.context_full = true}}, true);
    EXPECT_EQ(r.last.stop, StopType::eos);
    EXPECT_EQ(r.last.stopping_word, "");
    EXPECT_TRUE(r.last.truncated);
    EXPECT_EQ(r.text, "a");
}

TEST(OutputText, AFullContextOverridesAStopString) {
    const Output r = run(stop_at({"x"}), {"axb"}, {{.context_full = true}});
    EXPECT_EQ(r.last.stop, StopType::limit);
    EXPECT_TRUE(r.last.truncated);
    EXPECT_EQ(r.last.stopping_word, "");
    EXPECT_EQ(r.text, "a");
}

TEST(OutputText, AStopStringWinsOverThePredictedNumber) {
    StopParams p = stop_at({"x"});
    p.n_predict = 1;
    EXPECT_EQ(run(p, {"axb"}).last.stop, StopType::word);
    EXPECT_EQ(run(p, {"ab"}).last.stop, StopType::limit);
}

TEST(OutputText, CountsPredictedTokens) {
    StopParams p;
    p.n_predict = 3;
    EXPECT_EQ(run(p, {"a", "b", "c", "d"}).text, "abc");
    p.n_predict = 0;  // one token all the same, as llama-server does
    EXPECT_EQ(run(p, {"a", "b"}).text, "a");
    p.n_predict = -1;
    EXPECT_EQ(run(p, {"a", "b"}).last.stop, StopType::none);
}

TEST(OutputText, StopsAtALineThatIsIndentedTooLittle) {
    StopParams p;
    p.n_indent = 2;
    const Output r = run(p, {"def f:\n", "  a\n", " \t", "b\n", " c", "d"});
    EXPECT_EQ(r.text, "def f:\n  a\n \tb\n ");
    EXPECT_EQ(r.last.stop, StopType::limit);
    EXPECT_FALSE(r.last.truncated);
    EXPECT_EQ(run(p, {"a\n", "\n", "x"}).text, "a\n");  // an empty line has no indentation
    EXPECT_EQ(run(p, {"a b", "c"}).text, "a bc");       // no newline was generated
}

TEST(OutputText, StopsAtANewlineWhenTheTimeIsOver) {
    StopParams p;
    p.t_max_predict_ms = 10;
    const std::vector<StepFacts> facts = {
        {.predict_us = 0}, {.predict_us = 9000}, {.predict_us = 11000}, {.predict_us = 12000}};
    const Output r = run(p, {"a\n", "b\n", "c", "d\ne", "f"}, facts);
    EXPECT_EQ(r.text, "a\nb\ncd\ne");
    EXPECT_EQ(r.last.stop, StopType::limit);
    EXPECT_EQ(run(p, {"a", "b"}, {{.predict_us = 99000}, {.predict_us = 99000}}).last.stop, StopType::none);
    p.t_max_predict_ms = 0;  // off
    EXPECT_EQ(run(p, {"a\n"}, {{.predict_us = 99000}}).last.stop, StopType::none);
}

TEST(OutputText, TheTimeLimitReleasesWhatIsHeld) {
    StopParams p = stop_at({"##"});
    p.t_max_predict_ms = 10;
    EXPECT_EQ(run(p, {"a\nb#"}, {{.predict_us = 11000}}).text, "a\nb#");
}

TEST(OutputText, KnowsWhetherThereWasANewline) {
    EXPECT_FALSE(run({}, {"a", "b"}).has_new_line);
    EXPECT_TRUE(run({}, {"a", "\n", "b"}).has_new_line);
    EXPECT_FALSE(run(stop_at({"\n"}), {"a\nb"}).has_new_line);  // cut off with the stop string
}

TEST(OutputText, RefusesStopStringsBeyondTheLimit) {
    EXPECT_TRUE(check_stop_params(stop_at({std::string(kMaxStopBytes, 'a')})).ok());
    const Status status = check_stop_params(stop_at({std::string(kMaxStopBytes, 'a'), "b"}));
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().kind, ErrorKind::invalid_request);
    EXPECT_NE(status.error().message.find("'stop'"), std::string::npos);
}

// ---- against a reference that keeps the whole text and looks at all of it after each token
// -----------------

struct Expected {
    std::string text;
    StopType stop = StopType::none;
    std::string word;
    std::size_t n_tokens = 0;
};

Expected naive(const StopParams& p, const Pieces& tokens) {
    std::string all;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        all += tokens[i];
        std::size_t first = std::string::npos;
        std::string word;
        for (const std::string& w : p.stop) {
            if (!w.empty() && all.find(w) < first) {
                first = all.find(w);
                word = w;
            }
        }
        if (first != std::string::npos) {
            return {all.substr(0, first), StopType::word, word, i + 1};
        }
        if (p.n_predict >= 0 && i + 1 >= static_cast<std::size_t>(p.n_predict)) {
            return {all, StopType::limit, "", i + 1};
        }
    }
    return {all, StopType::none, "", tokens.size()};
}

rc::Gen<Pieces> random_tokens(int most) {
    // Letters that stop strings are made of, and characters of two, three and four bytes, cut anywhere.
    return rc::gen::map(
        rc::gen::pair(rc::gen::resize(most, rc::gen::container<Pieces>(rc::gen::element<std::string>(
                                                "a", "b", "ab", "\n", "\xC3\xA9", "\xE2\x82\xAC",
                                                "\xF0\x9F\x98\x80", "\xFF", "\xC3"))),
                      rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 4))),
        [](const std::pair<Pieces, std::vector<int>>& made) {
            std::string all;
            for (const std::string& s : made.first) {
                all += s;
            }
            Pieces tokens;
            std::size_t at = 0;
            for (std::size_t i = 0; at < all.size(); ++i) {
                const std::size_t n =
                    made.second.empty() ? 1 : static_cast<std::size_t>(made.second[i % made.second.size()]);
                tokens.push_back(all.substr(at, n));
                at += n;
            }
            return tokens;
        });
}

TEST(OutputText, AgreesWithANaiveReferenceOnRandomTextInRandomPieces) {
    EXPECT_TRUE(rc::check([] {
        const auto tokens = *random_tokens(60);
        StopParams p = stop_at(*rc::gen::resize(
            4, rc::gen::container<Pieces>(rc::gen::map(random_tokens(4), [](const Pieces& pieces) {
                std::string word;
                for (const std::string& s : pieces) {
                    word += s;
                }
                return word;
            }))));
        p.n_predict = *rc::gen::inRange(-1, 40);
        const Output got = run(p, tokens);
        const Expected want = naive(p, tokens);
        RC_ASSERT(got.last.stop == want.stop);
        RC_ASSERT(got.pieces.size() == want.n_tokens);
        RC_ASSERT(got.last.stopping_word == want.word);
        if (want.stop != StopType::none) {
            RC_ASSERT(got.text == want.text);
            RC_TAG(want.stop == StopType::word ? "word" : "limit");
        } else {
            // Not ended: what was sent is a beginning of the text, and little is held back.
            std::size_t longest = 0;
            for (const std::string& w : p.stop) {
                longest = std::max(longest, w.size());
            }
            RC_ASSERT(want.text.starts_with(got.text));
            RC_ASSERT(want.text.size() - got.text.size() <= longest + kMaxHeldForUtf8);
            RC_TAG("not ended");
        }
    }));
}

TEST(OutputText, NeverSendsHalfACharacterOrWhatCouldBeAStopString) {
    EXPECT_TRUE(rc::check([] {
        const auto tokens = *random_tokens(60);
        const StopParams p = stop_at({"ab\n", "\xC3\xA9\x61", "bb"});
        OutputText out(p);
        Piece piece;
        std::string given;
        std::string sent;
        for (const std::string& t : tokens) {
            given += t;
            out.push(t, false, {}, piece);
            sent += piece.text;
            if (piece.stop != StopType::none) {
                return;
            }
            RC_ASSERT(given.starts_with(sent));
            // What looks cut off is cut off only if its next byte may still come, or came and is held back.
            const bool may_go_on = sent.size() == given.size() ||
                                   (static_cast<unsigned char>(given[sent.size()]) & 0xC0U) == 0x80U;
            RC_ASSERT(piece.text.empty() || incomplete_utf8_suffix(sent) == 0U || !may_go_on);
            RC_ASSERT(!piece.incomplete_utf8 || piece.text.empty());
            for (const std::string& w : p.stop) {
                for (std::size_t n = 1; n < w.size(); ++n) {
                    RC_ASSERT(!given.ends_with(w.substr(0, n)) || given.size() - sent.size() >= n);
                }
            }
        }
    }));
}

}  // namespace
}  // namespace kvalet::text
