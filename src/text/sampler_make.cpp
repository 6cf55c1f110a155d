// How a Sampler is put together from the parameters of a request.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>

#include "text/grammar_check.h"
#include "text/sampler.h"

namespace kvalet::text {

namespace {

/// mirostat 1 estimates with so many of the most probable tokens (llama-server-api 5).
constexpr std::int32_t kMirostatM = 100;

}  // namespace

Result<std::unique_ptr<Sampler>> Sampler::make(const SamplerVocab& vocab, SamplingParams params,
                                               std::int32_t n_ctx) {
    Result<SamplerPlan> plan = plan_samplers(params, n_ctx);
    if (!plan) {
        return plan.error();
    }
    std::unique_ptr<Sampler> sampler(new Sampler(vocab, std::move(params), std::move(*plan)));
    if (Status made = sampler->make_grammar(); !made) {
        return made.error();
    }
    sampler->make_chains();
    return sampler;
}

Sampler::Sampler(const SamplerVocab& vocab, SamplingParams params, SamplerPlan plan)
    : vocab_(vocab), params_(std::move(params)), plan_(std::move(plan)) {
    if (params_.seed == kRandomSeed) {
        std::random_device device;
        do {
            params_.seed = device();
        } while (params_.seed == kRandomSeed);  // libllama would draw another one for each of its samplers
    }
    collect_biases();
}

void Sampler::collect_biases() {
    biases_ = params_.logit_bias;
    if (params_.ignore_eos) {
        for (const Token t : vocab_.eog) {
            biases_.push_back({t, -INFINITY});
        }
    }
    for (const Token t : vocab_.suppress) {
        biases_.push_back({t, -INFINITY});
    }
    std::erase_if(biases_, [n = vocab_.n_vocab](const LogitBias& b) { return b.token < 0 || b.token >= n; });
}

Status Sampler::make_grammar() {
    if (params_.grammar.empty()) {
        return Unit{};
    }
    if (Status fits = check_grammar_limits(params_.grammar); !fits) {
        return fits.error();
    }
    grammar_.reset(llama_sampler_init_grammar(vocab_.vocab, params_.grammar.c_str(), "root"));
    if (!grammar_) {
        return make_error(ErrorKind::invalid_request,
                          "Failed to initialize samplers: failed to parse grammar (field 'grammar' must be "
                          "GBNF with a rule 'root' and no left recursion)");
    }
    return Unit{};
}

void Sampler::make_chains() {
    const auto add = [](SamplerHandle& chain, llama_sampler* link) {
        if (!chain) {
            llama_sampler_chain_params no_clocks = llama_sampler_chain_default_params();
            no_clocks.no_perf = true;
            chain.reset(llama_sampler_chain_init(no_clocks));
        }
        llama_sampler_chain_add(chain.get(), link);
    };
    for (const SamplerKind kind : plan_.sparse) {
        add(sparse_, make_link(kind));
    }
    for (const SamplerKind kind : plan_.rest) {
        add(chain_, make_link(kind));
    }
    add(chain_, make_last());
    if (sparse_) {
        is_seen_.resize(static_cast<std::size_t>(vocab_.n_vocab));
    }
}

llama_sampler* Sampler::make_link(SamplerKind kind) const {
    const SamplingParams& p = params_;
    const auto min_keep = static_cast<std::size_t>(std::max(p.min_keep, 0));
    switch (kind) {
        case SamplerKind::penalties:
            return llama_sampler_init_penalties(vocab_.n_vocab, p.repeat_last_n, p.repeat_penalty,
                                                p.frequency_penalty, p.presence_penalty);
        case SamplerKind::dry:
            return make_dry();
        case SamplerKind::top_n_sigma:
            return llama_sampler_init_top_n_sigma(p.top_n_sigma);
        case SamplerKind::top_k:
            return llama_sampler_init_top_k(p.top_k);
        case SamplerKind::typ_p:
            return llama_sampler_init_typical(p.typical_p, min_keep);
        case SamplerKind::top_p:
            return llama_sampler_init_top_p(p.top_p, min_keep);
        case SamplerKind::min_p:
            return llama_sampler_init_min_p(p.min_p, min_keep);
        case SamplerKind::xtc:
            return llama_sampler_init_xtc(p.xtc_probability, p.xtc_threshold, min_keep, p.seed);
        case SamplerKind::temperature:
            return p.mirostat != 0
                       ? llama_sampler_init_temp(p.temperature)
                       : llama_sampler_init_temp_ext(p.temperature, p.dynatemp_range, p.dynatemp_exponent);
        case SamplerKind::infill:
            return llama_sampler_init_infill(vocab_.vocab);
    }
    return nullptr;
}

llama_sampler* Sampler::make_dry() const {
    std::vector<const char*> breakers;
    for (const std::string& b : params_.dry_sequence_breakers) {
        breakers.push_back(b.c_str());
    }
    return llama_sampler_init_dry(vocab_.vocab, params_.dry_multiplier, params_.dry_base,
                                  params_.dry_allowed_length, params_.dry_penalty_last_n, breakers.data(),
                                  breakers.size());
}

llama_sampler* Sampler::make_last() const {
    const SamplingParams& p = params_;
    switch (plan_.last) {
        case SamplerPlan::Last::dist:
            return llama_sampler_init_dist(p.seed);
        case SamplerPlan::Last::adaptive_p:
            return llama_sampler_init_adaptive_p(p.adaptive_target, p.adaptive_decay, p.seed);
        case SamplerPlan::Last::mirostat_1:
            return llama_sampler_init_mirostat(vocab_.n_vocab, p.seed, p.mirostat_tau, p.mirostat_eta,
                                               kMirostatM);
        case SamplerPlan::Last::mirostat_2:
            return llama_sampler_init_mirostat_v2(p.seed, p.mirostat_tau, p.mirostat_eta);
    }
    return nullptr;
}

}  // namespace kvalet::text
