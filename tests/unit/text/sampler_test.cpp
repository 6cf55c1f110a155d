// The shorter ways of Sampler against llama-server's whole chain over all candidates, built here by hand. No
// model.
#include "text/sampler.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace kvalet::text {
namespace {

constexpr std::int32_t kVocab = 3000;
constexpr std::int32_t kCtx = 512;
constexpr std::uint32_t kSeed = 1234;

std::vector<float> random_row(std::mt19937& rng, int levels) {
    std::normal_distribution<float> normal(0.0F, 3.0F);
    std::vector<float> row(kVocab);
    for (float& x : row) {
        x = normal(rng);
        if (levels > 0) {
            x = std::round(x * static_cast<float>(levels)) / static_cast<float>(levels);
        }
    }
    return row;
}

/// Everything that llama-server puts into its chain, active or not, over the whole vocabulary.
class FullChain {
  public:
    explicit FullChain(const SamplingParams& p, const std::vector<Token>& eog)
        : chain_(llama_sampler_chain_init(llama_sampler_chain_default_params())) {
        std::vector<llama_logit_bias> biases;
        for (const LogitBias& b : p.logit_bias) {
            biases.push_back({b.token, b.bias});
        }
        for (const Token t : p.ignore_eos ? eog : std::vector<Token>()) {
            biases.push_back({t, -INFINITY});
        }
        add(llama_sampler_init_logit_bias(kVocab, static_cast<std::int32_t>(biases.size()), biases.data()));
        if (p.mirostat != 0) {
            add(llama_sampler_init_temp(p.temperature));
            add(p.mirostat == 1
                    ? llama_sampler_init_mirostat(kVocab, p.seed, p.mirostat_tau, p.mirostat_eta, 100)
                    : llama_sampler_init_mirostat_v2(p.seed, p.mirostat_tau, p.mirostat_eta));
            return;
        }
        bool adaptive = false;
        for (const std::string& name : p.samplers) {
            adaptive |= name == "adaptive_p";
            add_named(name, p);
        }
        add(adaptive ? llama_sampler_init_adaptive_p(p.adaptive_target, p.adaptive_decay, p.seed)
                     : llama_sampler_init_dist(p.seed));
    }

    void accept(Token t) { llama_sampler_accept(chain_.get(), t); }

    Token pick(const std::vector<float>& row) {
        data_.clear();
        for (std::size_t i = 0; i < row.size(); ++i) {
            data_.push_back({static_cast<Token>(i), row[i], 0.0F});
        }
        array_ = {data_.data(), data_.size(), -1, false};
        llama_sampler_apply(chain_.get(), &array_);
        const Token t = array_.data[array_.selected].id;
        accept(t);
        return t;
    }

    [[nodiscard]] std::span<const llama_token_data> candidates() const { return {array_.data, array_.size}; }

  private:
    void add(llama_sampler* s) { llama_sampler_chain_add(chain_.get(), s); }

    void add_named(const std::string& name, const SamplingParams& p) {
        const auto min_keep = static_cast<std::size_t>(p.min_keep);
        if (name == "penalties") {
            add(llama_sampler_init_penalties(kVocab, p.repeat_last_n, p.repeat_penalty, p.frequency_penalty,
                                             p.presence_penalty));
        } else if (name == "top_n_sigma") {
            add(llama_sampler_init_top_n_sigma(p.top_n_sigma));
        } else if (name == "top_k") {
            add(llama_sampler_init_top_k(p.top_k));
        } else if (name == "typ_p") {
            add(llama_sampler_init_typical(p.typical_p, min_keep));
        } else if (name == "top_p") {
            add(llama_sampler_init_top_p(p.top_p, min_keep));
        } else if (name == "min_p") {
            add(llama_sampler_init_min_p(p.min_p, min_keep));
        } else if (name == "xtc") {
            add(llama_sampler_init_xtc(p.xtc_probability, p.xtc_threshold, min_keep, p.seed));
        } else if (name == "temperature") {
            add(llama_sampler_init_temp_ext(p.temperature, p.dynatemp_range, p.dynatemp_exponent));
        }
    }

    SamplerHandle chain_;
    std::vector<llama_token_data> data_;
    llama_token_data_array array_{};
};

const std::vector<Token>& eog_tokens() {
    static const std::vector<Token> eog = {2, 7, 11};
    return eog;
}

std::unique_ptr<Sampler> make(const SamplingParams& p) {
    auto made = Sampler::make({nullptr, kVocab, eog_tokens(), {}}, p, kCtx);
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
    return std::move(*made);
}

struct Case {
    const char* name;
    bool is_short;  // whether a shorter way is taken
    void (*set)(SamplingParams&);
};

void PrintTo(const Case& c, std::ostream* out) {
    *out << c.name;
}

class SameAsFullChain : public testing::TestWithParam<Case> {};

void compare(const Case& c, int levels) {
    SamplingParams p;
    p.seed = kSeed;
    c.set(p);
    FullChain full(p, eog_tokens());
    const auto sampler = make(p);
    EXPECT_EQ(sampler->plan().greedy || sampler->plan().select_k > 0, c.is_short);
    std::mt19937 rng(99);
    std::vector<Token> prompt;
    for (int i = 0; i < 300; ++i) {
        prompt.push_back(static_cast<Token>(rng() % 400));  // few enough that what is likely was there before
    }
    for (const Token t : prompt) {
        full.accept(t);
    }
    sampler->accept_prompt(prompt);
    for (int step = 0; step < 150; ++step) {
        auto row = random_row(rng, levels);
        for (int i = 0; i < 20; ++i) {
            row[rng() % 400] += 6.0F;
        }
        const Token want = full.pick(row);
        ASSERT_EQ(sampler->pick(row).token, want) << c.name << ", step " << step << ", levels " << levels;
    }
}

TEST_P(SameAsFullChain, OnRandomRows) {
    compare(GetParam(), 0);
}
TEST_P(SameAsFullChain, OnRowsWithManyTies) {
    compare(GetParam(), 1);
}
TEST_P(SameAsFullChain, OnRowsWithSomeTies) {
    compare(GetParam(), 8);
}

const Case kCases[] = {
    {"defaults", true, [](SamplingParams&) {}},
    {"hot", true,
     [](SamplingParams& p) {
         p.temperature = 3.0F;
         p.min_p = 0.0F;
         p.top_p = 1.0F;
     }},
    {"temperature_1", true, [](SamplingParams& p) { p.temperature = 1.0F; }},
    {"greedy", true, [](SamplingParams& p) { p.temperature = 0.0F; }},
    {"greedy_without_top_k", true,
     [](SamplingParams& p) {
         p.temperature = 0.0F;
         p.top_k = 0;
     }},
    {"greedy_large_top_k", true,
     [](SamplingParams& p) {
         p.temperature = 0.0F;
         p.top_k = 500;
     }},
    {"greedy_top_n_sigma", true,
     [](SamplingParams& p) {
         p.temperature = 0.0F;
         p.top_n_sigma = 1.5F;
     }},
    {"greedy_ignore_eos", true,
     [](SamplingParams& p) {
         p.temperature = 0.0F;
         p.ignore_eos = true;
     }},
    {"greedy_penalties", true,
     [](SamplingParams& p) {
         p.temperature = 0.0F;
         p.repeat_penalty = 1.3F;
     }},
    {"greedy_typical", true,
     [](SamplingParams& p) {
         p.temperature = 0.0F;
         p.typical_p = 0.3F;
     }},
    {"greedy_xtc", true,
     [](SamplingParams& p) {
         p.temperature = 0.0F;
         p.xtc_probability = 1.0F;
         p.xtc_threshold = 0.05F;
     }},
    {"greedy_temperature_first", true,
     [](SamplingParams& p) {
         p.temperature = 0.0F;
         p.samplers = {"temperature", "top_k", "top_p", "min_p"};
     }},
    {"top_k_1", true, [](SamplingParams& p) { p.top_k = 1; }},
    {"top_k_128", true,
     [](SamplingParams& p) {
         p.top_k = 128;
         p.min_p = 0.0F;
     }},
    {"top_k_129", false,
     [](SamplingParams& p) {
         p.top_k = 129;
         p.min_p = 0.0F;
     }},
    {"top_k_off", false, [](SamplingParams& p) { p.top_k = 0; }},
    {"ignore_eos", true, [](SamplingParams& p) { p.ignore_eos = true; }},
    {"logit_bias", true,
     [](SamplingParams& p) {
         p.logit_bias = {{5, 20.0F}, {5, -13.0F}, {6, -INFINITY}, {1000, 9.0F}};
     }},
    {"penalties", true,
     [](SamplingParams& p) {
         p.repeat_penalty = 1.2F;
         p.frequency_penalty = 0.1F;
         p.presence_penalty = 0.2F;
     }},
    {"penalties_long", true,
     [](SamplingParams& p) {
         p.repeat_penalty = 1.2F;
         p.repeat_last_n = kCtx;
     }},
    {"penalties_after_top_k", true,
     [](SamplingParams& p) {
         p.repeat_penalty = 1.5F;
         p.samplers = {"top_k", "penalties", "temperature"};
     }},
    {"penalties_after_min_p", false,
     [](SamplingParams& p) {
         p.repeat_penalty = 1.5F;
         p.samplers = {"min_p", "penalties", "top_k"};
     }},
    {"negative_penalty", true, [](SamplingParams& p) { p.presence_penalty = -1.0F; }},
    {"top_n_sigma", false, [](SamplingParams& p) { p.top_n_sigma = 1.0F; }},
    {"typical", true, [](SamplingParams& p) { p.typical_p = 0.5F; }},
    {"xtc", true,
     [](SamplingParams& p) {
         p.xtc_probability = 0.5F;
         p.xtc_threshold = 0.05F;
     }},
    {"dynamic_temperature", true, [](SamplingParams& p) { p.dynatemp_range = 0.5F; }},
    {"min_keep", true,
     [](SamplingParams& p) {
         p.min_keep = 5;
         p.top_p = 0.1F;
         p.min_p = 0.9F;
     }},
    {"mirostat_1", false, [](SamplingParams& p) { p.mirostat = 1; }},
    {"mirostat_2", false,
     [](SamplingParams& p) {
         p.mirostat = 2;
         p.temperature = 1.0F;
     }},
    {"adaptive_p", true,
     [](SamplingParams& p) {
         p.adaptive_target = 0.4F;
         p.samplers = {"top_k", "min_p", "adaptive_p"};
     }},
    {"nothing", false, [](SamplingParams& p) { p.samplers = {}; }},
};

INSTANTIATE_TEST_SUITE_P(Samplers, SameAsFullChain, testing::ValuesIn(kCases),
                         [](const auto& param_info) { return std::string(param_info.param.name); });

TEST(Sampler, ReportsTheSameProbabilitiesAsTheFullChain) {
    SamplingParams p;
    p.seed = kSeed;
    p.temperature = 2.0F;
    FullChain full(p, {});
    const auto sampler = make(p);
    std::mt19937 rng(5);
    for (int step = 0; step < 20; ++step) {
        const auto row = random_row(rng, 0);
        const Token want = full.pick(row);
        EXPECT_EQ(sampler->pick(row).token, want);
        ASSERT_EQ(sampler->candidates().size(), full.candidates().size());
        for (std::size_t i = 0; i < full.candidates().size(); ++i) {
            EXPECT_EQ(sampler->candidates()[i].id, full.candidates()[i].id);
            EXPECT_EQ(sampler->candidates()[i].p, full.candidates()[i].p);
        }
    }
}

TEST(Sampler, TheSameSeedGivesTheSameTokensAndAnotherSeedOthers) {
    SamplingParams p;
    p.temperature = 2.0F;
    p.seed = 1;
    const auto a = make(p);
    const auto b = make(p);
    p.seed = 2;
    const auto c = make(p);
    std::mt19937 rng(6);
    int differ = 0;
    for (int step = 0; step < 50; ++step) {
        const auto row = random_row(rng, 0);
        const Token t = a->pick(row).token;
        EXPECT_EQ(b->pick(row).token, t);
        differ += c->pick(row).token != t ? 1 : 0;
    }
    EXPECT_GT(differ, 0);
}

TEST(Sampler, DrawsARandomSeedOnce) {
    SamplingParams p;
    const auto a = make(p);
    const auto b = make(p);
    EXPECT_NE(a->seed(), kRandomSeed);
    EXPECT_NE(a->seed(), b->seed());  // fails once in four billion runs
    p.seed = a->seed();
    const auto again = make(p);
    std::mt19937 rng(7);
    for (int step = 0; step < 50; ++step) {
        const auto row = random_row(rng, 0);
        EXPECT_EQ(again->pick(row).token, a->pick(row).token);
    }
}

TEST(Sampler, ForbiddenTokensAreNotChosenAndWantedOnesAre) {
    SamplingParams p;
    p.ignore_eos = true;
    p.temperature = 0.0F;
    const auto sampler = make(p);
    std::vector<float> row(kVocab, 0.0F);
    row[2] = 52.0F;  // eog_tokens()
    row[7] = 51.0F;
    row[11] = 50.0F;
    row[20] = 1.0F;
    EXPECT_EQ(sampler->pick(row).token, 20);
    p.ignore_eos = false;
    EXPECT_EQ(make(p)->pick(row).token, 2);
    p.logit_bias = {{30, 100.0F}};
    EXPECT_EQ(make(p)->pick(row).token, 30);
    p.logit_bias = {{-1, 100.0F}, {kVocab, 100.0F}, {2, -INFINITY}};  // those outside are ignored
    EXPECT_EQ(make(p)->pick(row).token, 7);
}

TEST(Sampler, TokensTheModelSuppressesAreNotChosen) {
    SamplingParams p;
    p.temperature = 0.0F;
    const std::vector<Token> suppress = {3};
    const auto sampler = Sampler::make({nullptr, kVocab, {}, suppress}, p, kCtx);
    ASSERT_TRUE(sampler.ok());
    std::vector<float> row(kVocab, 0.0F);
    row[3] = 5.0F;
    row[4] = 4.0F;
    EXPECT_EQ((*sampler)->pick(row).token, 4);
}

TEST(Sampler, DoesNotChangeTheRow) {
    SamplingParams p;
    p.ignore_eos = true;
    p.repeat_penalty = 1.5F;
    const auto sampler = make(p);
    std::mt19937 rng(8);
    const auto row = random_row(rng, 0);
    const auto before = row;
    static_cast<void>(sampler->pick(row));
    EXPECT_EQ(row, before);
}

TEST(Sampler, SurvivesRowsOfNothingButInfinityOrNan) {
    SamplingParams p;
    for (const float value : {-INFINITY, INFINITY, NAN}) {
        for (const float temperature : {0.0F, 0.8F}) {
            p.temperature = temperature;
            const Token t = make(p)->pick(std::vector<float>(kVocab, value)).token;
            EXPECT_GE(t, 0);
            EXPECT_LT(t, kVocab);
        }
    }
}

TEST(Sampler, PromptTokensOutsideTheVocabularyAreIgnored) {
    SamplingParams p;
    p.repeat_penalty = 1.5F;
    const auto sampler = make(p);
    sampler->accept_prompt(std::vector<Token>{-1, kVocab, 5});
    std::mt19937 rng(9);
    EXPECT_GE(sampler->pick(random_row(rng, 0)).token, 0);
}

TEST(Sampler, RefusesARepeatPenaltyThatIsNotPositive) {
    SamplingParams p;
    p.repeat_penalty = 0.0F;
    const auto made = Sampler::make({nullptr, kVocab, {}, {}}, p, kCtx);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().kind, ErrorKind::invalid_request);
    EXPECT_TRUE(made.error().message.starts_with("Failed to initialize samplers: "));
}

}  // namespace
}  // namespace kvalet::text
