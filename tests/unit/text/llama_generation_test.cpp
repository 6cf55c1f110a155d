// Generations on the real vocabulary, fed with logits made here.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>

#include "loaded_model.h"

namespace kvalet::text {
namespace {

class LlamaGenerationTest : public ModelTest {
  protected:
    /// Feeds tokens one after the other, each so likely that it must be chosen, until the generation ends.
    std::vector<Piece> feed(Generation& generation, const std::vector<Token>& fed) const {
        std::vector<Piece> pieces;
        for (const Token t : fed) {
            pieces.push_back(generation.next(row_for(t), {}));
            EXPECT_EQ(pieces.back().token, t);
            if (pieces.back().stop != StopType::none) {
                break;
            }
        }
        return pieces;
    }

    static std::string text_of(const std::vector<Piece>& pieces) {
        std::string text;
        for (const Piece& p : pieces) {
            text += p.text;
        }
        return text;
    }
};

SamplingParams greedy() {
    SamplingParams p;
    p.temperature = 0.0F;
    return p;
}

TEST_F(LlamaGenerationTest, TheTextIsThatOfTheTokens) {
    const std::string text = "Hello \xF0\x9F\x98\x80\xF0\x9F\xA6\x84 w\xC3\xB6rld\n\xE4\xBD\xA0\xE5\xA5\xBD!";
    const auto generation = this->generation(greedy());
    const auto pieces = feed(*generation, tokens(text));
    EXPECT_EQ(text_of(pieces), text);
    EXPECT_TRUE(generation->has_new_line());
    EXPECT_GT(std::count_if(pieces.begin(), pieces.end(), [](const Piece& p) { return p.incomplete_utf8; }),
              0);
}

TEST_F(LlamaGenerationTest, TheEndTokenEndsAndBringsNoText) {
    const auto pieces = feed(*generation(greedy()), tokens("Bye<|im_end|>never"));
    EXPECT_EQ(text_of(pieces), "Bye");
    EXPECT_EQ(pieces.back().stop, StopType::eos);
    EXPECT_EQ(pieces.back().text, "");
}

TEST_F(LlamaGenerationTest, WithSpecialTheEndTokenIsShown) {
    model_ = make_model({.path = "", .alias = "", .chat_template = "", .special = true});
    const auto pieces = feed(*generation(greedy()), tokens("Bye<|im_end|>"));
    EXPECT_EQ(text_of(pieces), "Bye<|im_end|>");
    EXPECT_EQ(pieces.back().stop, StopType::eos);
}

TEST_F(LlamaGenerationTest, StopsAtAStopString) {
    StopParams stop;
    stop.stop = {"lazy dog"};
    const auto pieces = feed(*generation(greedy(), stop), tokens("the lazy dog sleeps"));
    EXPECT_EQ(text_of(pieces), "the ");
    EXPECT_EQ(pieces.back().stop, StopType::word);
    EXPECT_EQ(pieces.back().stopping_word, "lazy dog");
}

TEST_F(LlamaGenerationTest, RefusesTooManyStopStrings) {
    StopParams stop;
    stop.stop.assign(2, std::string(40000, 'x'));
    EXPECT_NE(refusal({}, stop).find("'stop'"), std::string::npos);
}

TEST_F(LlamaGenerationTest, IgnoreEosNeverEnds) {
    SamplingParams p = greedy();
    p.ignore_eos = true;
    const auto generation = this->generation(p);
    for (int i = 0; i < 20; ++i) {
        const Piece piece = generation->next(row_for(tokens("<|im_end|>").front()), {});
        EXPECT_EQ(piece.stop, StopType::none);
        EXPECT_FALSE(model_->is_eog(piece.token));
    }
}

TEST_F(LlamaGenerationTest, LogitBiasForbidsAndWins) {
    SamplingParams p = greedy();
    const Token hello = tokens("hello").front();
    const Token world = tokens("world").front();
    p.logit_bias = {{hello, -INFINITY}};
    EXPECT_NE(generation(p)->next(row_for(hello), {}).token, hello);
    p.logit_bias = {{world, 1000.0F}};
    EXPECT_EQ(generation(p)->next(row_for(hello), {}).token, world);
}

// ---- every sampler
// -----------------------------------------------------------------------------------------

struct SamplerCase {
    const char* name;
    void (*set)(SamplingParams&);
};

const SamplerCase kSamplers[] = {
    {"penalties",
     [](SamplingParams& p) {
         p.repeat_penalty = 1.5F;
         p.frequency_penalty = 0.5F;
     }},
    {"dry",
     [](SamplingParams& p) {
         p.dry_multiplier = 2.0F;
         p.dry_penalty_last_n = -1;
     }},
    {"top_n_sigma", [](SamplingParams& p) { p.top_n_sigma = 2.0F; }},
    {"top_k", [](SamplingParams& p) { p.top_k = 3; }},
    {"typ_p", [](SamplingParams& p) { p.typical_p = 0.3F; }},
    {"top_p", [](SamplingParams& p) { p.top_p = 0.3F; }},
    {"min_p", [](SamplingParams& p) { p.min_p = 0.7F; }},
    {"xtc",
     [](SamplingParams& p) {
         p.xtc_probability = 1.0F;
         p.xtc_threshold = 0.03F;
     }},
    {"temperature", [](SamplingParams& p) { p.temperature = 5.0F; }},
    {"dynamic_temperature",
     [](SamplingParams& p) {
         p.dynatemp_range = 0.8F;
         p.dynatemp_exponent = 2.0F;
     }},
    {"mirostat_1", [](SamplingParams& p) { p.mirostat = 1; }},
    {"mirostat_2", [](SamplingParams& p) { p.mirostat = 2; }},
    {"adaptive_p",
     [](SamplingParams& p) {
         p.samplers = {"min_p", "adaptive_p"};
         p.min_p = 0.001F;
         p.adaptive_target = 0.2F;
     }},
    {"infill",
     [](SamplingParams& p) {
         p.samplers = {"top_k", "infill"};
         p.top_k = 40;
     }},
};

TEST_F(LlamaGenerationTest, EachSamplerMattersAndIsRepeatedByItsSeed) {
    SamplingParams plain;
    plain.seed = 11;
    plain.top_k = 0;
    plain.top_p = 1.0F;
    plain.min_p = 0.0F;
    plain.temperature = 1.5F;
    std::vector<std::vector<float>> rows;
    std::vector<Token> prompt = tokens("one two three one two three one two");
    for (int i = 0; i < 40; ++i) {
        rows.push_back(random_row());
        for (const Token t : prompt) {  // what penalties and DRY may push down
            rows.back()[static_cast<std::size_t>(t)] = 12.0F;
        }
    }
    const auto chosen = [&](const SamplingParams& p) {
        const auto generation = this->generation(p);
        generation->begin(prompt);
        std::vector<Token> all;
        for (const auto& row : rows) {
            all.push_back(generation->next(row, {}).token);
        }
        return all;
    };
    const auto without = chosen(plain);
    for (const SamplerCase& c : kSamplers) {
        SamplingParams p = plain;
        c.set(p);
        const auto with = chosen(p);
        EXPECT_EQ(with, chosen(p)) << c.name;
        EXPECT_NE(with, without) << c.name;
    }
}

TEST_F(LlamaGenerationTest, DryBreaksARepetition) {
    const std::vector<Token> prompt = tokens("one two three four one two three");
    const Token four = tokens(" four").front();
    std::vector<float> row = random_row();
    row[static_cast<std::size_t>(four)] = 20.0F;
    SamplingParams p = greedy();
    auto generation = this->generation(p);
    generation->begin(prompt);
    EXPECT_EQ(generation->next(row, {}).token, four);
    p.dry_multiplier = 20.0F;
    generation = this->generation(p);
    generation->begin(prompt);
    EXPECT_NE(generation->next(row, {}).token, four);
}

TEST_F(LlamaGenerationTest, BadSamplersAreRefused) {
    SamplingParams p;
    p.repeat_penalty = -1.0F;
    EXPECT_TRUE(refusal(p).starts_with("Failed to initialize samplers: "));
    p = {};
    p.samplers = {"no such thing"};
    EXPECT_NE(refusal(p).find("no such thing"), std::string::npos);
}

// ---- probabilities
// -----------------------------------------------------------------------------------------

TEST_F(LlamaGenerationTest, WithoutNProbsThereAreNone) {
    EXPECT_TRUE(generation({})->next(random_row(), {}).probs.empty());
}

TEST_F(LlamaGenerationTest, ProbabilitiesAreThoseOfTheRawLogits) {
    SamplingParams p = greedy();
    p.n_probs = model_->info().n_vocab + 10;
    p.logit_bias = {{tokens("hello").front(), 1000.0F}};  // chosen, but not by its raw logit
    const auto row = random_row();
    const Piece piece = generation(p)->next(row, {});
    ASSERT_EQ(piece.probs.size(), 1U);
    const TokenProbs& probs = piece.probs.front();
    EXPECT_EQ(probs.chosen.token, tokens("hello").front());
    EXPECT_EQ(probs.chosen.text, "hello");
    ASSERT_EQ(probs.top.size(), row.size());
    double sum = 0;
    for (std::size_t i = 0; i < probs.top.size(); ++i) {
        const TokenProb& t = probs.top[i];
        ASSERT_TRUE(std::isfinite(t.p));
        ASSERT_LE(t.p, i == 0 ? 0.0F : probs.top[i - 1].p);
        sum += std::exp(static_cast<double>(t.p));
        if (t.token == probs.chosen.token) {
            EXPECT_EQ(t.p, probs.chosen.p);
        }
    }
    EXPECT_NEAR(sum, 1.0, 1e-4);
    EXPECT_EQ(probs.top.front().token, std::max_element(row.begin(), row.end()) - row.begin());
}

TEST_F(LlamaGenerationTest, TheFewBestAreTheFirstOfAll) {
    SamplingParams p = greedy();
    const auto row = random_row();
    p.n_probs = 200;
    const auto many = generation(p)->next(row, {}).probs.front().top;
    p.n_probs = 5;
    const auto few = generation(p)->next(row, {}).probs.front().top;
    ASSERT_EQ(few.size(), 5U);
    for (std::size_t i = 0; i < few.size(); ++i) {
        EXPECT_EQ(few[i].token, many[i].token);
        EXPECT_EQ(few[i].p, many[i].p);
    }
}

TEST_F(LlamaGenerationTest, AnImpossibleTokenHasAFiniteLogProbability) {
    SamplingParams p = greedy();
    p.n_probs = 1;
    const Token hello = tokens("hello").front();
    auto row = random_row();
    row[static_cast<std::size_t>(hello)] = -1000.0F;
    p.logit_bias = {{hello, 5000.0F}};
    EXPECT_EQ(generation(p)->next(row, {}).probs.front().chosen.p, -FLT_MAX);
}

TEST_F(LlamaGenerationTest, ProbabilitiesAfterSamplingAreThoseItChoseFrom) {
    SamplingParams p;
    p.seed = 3;
    p.n_probs = 100;
    p.post_sampling_probs = true;
    p.top_k = 10;
    p.min_p = 0.0F;
    p.top_p = 1.0F;
    const TokenProbs probs = generation(p)->next(random_row(), {}).probs.front();
    ASSERT_EQ(probs.top.size(), 10U);
    double sum = 0;
    bool is_chosen_there = false;
    for (std::size_t i = 0; i < probs.top.size(); ++i) {
        EXPECT_GT(probs.top[i].p, 0.0F);
        EXPECT_LE(probs.top[i].p, i == 0 ? 1.0F : probs.top[i - 1].p);
        sum += static_cast<double>(probs.top[i].p);
        if (probs.top[i].token == probs.chosen.token) {
            is_chosen_there = probs.top[i].p == probs.chosen.p;
        }
    }
    EXPECT_NEAR(sum, 1.0, 1e-5);
    EXPECT_TRUE(is_chosen_there);
}

TEST_F(LlamaGenerationTest, AfterGreedySamplingOnlyTheChosenIsProbable) {
    SamplingParams p = greedy();
    p.n_probs = 5;
    p.post_sampling_probs = true;
    const TokenProbs probs = generation(p)->next(random_row(), {}).probs.front();
    EXPECT_EQ(probs.chosen.p, 1.0F);
    ASSERT_EQ(probs.top.size(), 1U);
    EXPECT_EQ(probs.top.front().token, probs.chosen.token);
}

}  // namespace
}  // namespace kvalet::text
