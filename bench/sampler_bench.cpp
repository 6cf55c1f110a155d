// One token's sampling over a vocabulary of 49,152: the sampler's shorter ways, and the whole chain over all
// candidates as it is built without them.
#include <benchmark/benchmark.h>
#include <random>
#include <string>
#include <vector>

#include "text/sampler.h"

namespace {

using kvalet::Token;
using kvalet::text::Sampler;
using kvalet::text::SamplerHandle;
using kvalet::text::SamplingParams;

constexpr std::int32_t kVocab = 49152;

/// Several rows, so that the branch predictor does not learn one by heart; about what a model's logits look
/// like.
const std::vector<std::vector<float>>& rows() {
    static const auto made = [] {
        std::mt19937 rng(1);
        std::normal_distribution<float> normal(0.0F, 3.0F);
        std::vector<std::vector<float>> all(8, std::vector<float>(kVocab));
        for (auto& row : all) {
            for (float& x : row) {
                x = normal(rng);
            }
        }
        return all;
    }();
    return made;
}

void run(benchmark::State& state, SamplingParams params) {
    static const std::vector<Token> eog = {0, 2};
    params.seed = 7;
    const auto sampler = Sampler::make({nullptr, kVocab, eog, {}}, params, 2048);
    std::vector<Token> prompt(300);
    for (std::size_t i = 0; i < prompt.size(); ++i) {
        prompt[i] = static_cast<Token>(i * 37);
    }
    (*sampler)->accept_prompt(prompt);
    std::size_t i = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize((*sampler)->pick(rows()[i++ % rows().size()]).token);
    }
}

void whole_chain(benchmark::State& state, float temperature) {
    const SamplingParams p;
    const SamplerHandle chain(llama_sampler_chain_init(llama_sampler_chain_default_params()));
    for (llama_sampler* s :
         {llama_sampler_init_penalties(kVocab, p.repeat_last_n, p.repeat_penalty, 0.0F, 0.0F),
          llama_sampler_init_top_n_sigma(p.top_n_sigma), llama_sampler_init_top_k(p.top_k),
          llama_sampler_init_typical(p.typical_p, 0), llama_sampler_init_top_p(p.top_p, 0),
          llama_sampler_init_min_p(p.min_p, 0), llama_sampler_init_temp_ext(temperature, 0.0F, 1.0F),
          llama_sampler_init_dist(7)}) {
        llama_sampler_chain_add(chain.get(), s);
    }
    std::vector<llama_token_data> data(kVocab);
    std::size_t i = 0;
    for (auto _ : state) {
        const auto& row = rows()[i++ % rows().size()];
        for (std::size_t t = 0; t < row.size(); ++t) {
            data[t] = {static_cast<Token>(t), row[t], 0.0F};
        }
        llama_token_data_array array{data.data(), data.size(), -1, false};
        llama_sampler_apply(chain.get(), &array);
        const Token token = array.data[array.selected].id;
        llama_sampler_accept(chain.get(), token);
        benchmark::DoNotOptimize(token);
    }
}

SamplingParams with(void (*change)(SamplingParams&)) {
    SamplingParams p;
    change(p);
    return p;
}

BENCHMARK_CAPTURE(whole_chain, defaults, 0.8F);
BENCHMARK_CAPTURE(whole_chain, greedy, 0.0F);
BENCHMARK_CAPTURE(run, defaults, SamplingParams());
BENCHMARK_CAPTURE(run, greedy, with([](SamplingParams& p) { p.temperature = 0.0F; }));
BENCHMARK_CAPTURE(run, defaults_ignore_eos, with([](SamplingParams& p) { p.ignore_eos = true; }));
BENCHMARK_CAPTURE(run, greedy_ignore_eos, with([](SamplingParams& p) {
                      p.temperature = 0.0F;
                      p.ignore_eos = true;
                  }));
BENCHMARK_CAPTURE(run, penalties, with([](SamplingParams& p) { p.repeat_penalty = 1.1F; }));
BENCHMARK_CAPTURE(run, min_p_only, with([](SamplingParams& p) { p.samplers = {"min_p", "temperature"}; }));
BENCHMARK_CAPTURE(run, top_p_only, with([](SamplingParams& p) { p.samplers = {"top_p", "temperature"}; }));
BENCHMARK_CAPTURE(run, mirostat_2, with([](SamplingParams& p) { p.mirostat = 2; }));

}  // namespace

BENCHMARK_MAIN();
