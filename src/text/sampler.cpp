#include "text/sampler.h"

#include <algorithm>
#include <cmath>
#include <exception>

#include "core/assert.h"
#include "text/select.h"

namespace kvalet::text {

namespace {

/// What a pick needs for as long as it lasts. One for each thread that samples, so that a chat which waits
/// costs nothing and no token allocates.
struct Scratch {
    std::vector<float> row;     // logits after bias, penalties and dry
    std::vector<float> masked;  // logits after the grammar
    std::vector<Candidate> best;
    std::vector<llama_token_data> sparse;
    std::vector<llama_token_data> data;
    llama_token_data greedy{};
};

Scratch& scratch() {
    thread_local Scratch s;
    return s;
}

llama_token_data_array array_of(std::vector<llama_token_data>& data, bool sorted) {
    return {data.data(), data.size(), -1, sorted};
}

void fill_all(std::span<const float> logits, std::vector<llama_token_data>& data) {
    data.resize(logits.size());
    for (std::size_t i = 0; i < logits.size(); ++i) {
        data[i] = {static_cast<llama_token>(i), logits[i], 0.0F};
    }
}

void fill_best(std::span<const float> logits, std::size_t k, Scratch& s) {
    top_k_of(logits, k, s.best);
    s.data.clear();
    for (const Candidate& c : s.best) {
        s.data.push_back({c.token, c.logit, 0.0F});
    }
}

}  // namespace

Sampler::Pick Sampler::pick(std::span<const float> logits) {
    KVALET_ASSERT(logits.size() == static_cast<std::size_t>(vocab_.n_vocab),
                  "a row of logits has n_vocab floats");
    Pick pick{sample(logits)};
    if (grammar_ && !grammar_allows(pick.token)) {
        pick = sample_grammatical(logits);
    }
    accept(pick);
    return pick;
}

/// The row after logit bias, penalties and dry. `logits` itself where none of them is on.
std::span<const float> Sampler::adjusted(std::span<const float> logits) const {
    if (biases_.empty() && !sparse_) {
        return logits;
    }
    Scratch& s = scratch();
    s.row.assign(logits.begin(), logits.end());
    for (const LogitBias& b : biases_) {
        s.row[static_cast<std::size_t>(b.token)] += b.bias;
    }
    if (sparse_) {
        s.sparse.clear();
        for (const Token t : seen_) {
            s.sparse.push_back({t, s.row[static_cast<std::size_t>(t)], 0.0F});
        }
        llama_token_data_array touched = array_of(s.sparse, false);
        llama_sampler_apply(sparse_.get(), &touched);
        for (std::size_t i = 0; i < touched.size; ++i) {
            s.row[static_cast<std::size_t>(touched.data[i].id)] = touched.data[i].logit;
        }
    }
    return s.row;
}

Token Sampler::sample(std::span<const float> logits) {
    Scratch& s = scratch();
    const std::span<const float> row = adjusted(logits);
    if (plan_.greedy) {
        // Two largest: which of them the chain would keep depends on how it sorts, so let it.
        if (const Best best = best_of(row); !best.tied) {
            s.greedy = {best.candidate.token, best.candidate.logit, 1.0F};
            candidates_ = {&s.greedy, 1};
            return best.candidate.token;
        }
    }
    if (plan_.select_k > 0) {
        fill_best(row, static_cast<std::size_t>(plan_.select_k), s);
    } else {
        fill_all(row, s.data);
    }
    llama_token_data_array array = array_of(s.data, plan_.select_k > 0);
    llama_sampler_apply(chain_.get(), &array);
    candidates_ = {array.data, array.size};
    if (array.selected < 0 || static_cast<std::size_t>(array.selected) >= array.size) {
        return best_of(row).candidate.token;
    }
    return array.data[array.selected].id;
}

bool Sampler::grammar_allows(Token token) const {
    if (is_grammar_broken_) {
        return false;
    }
    llama_token_data one{token, 1.0F, 0.0F};
    llama_token_data_array array{&one, 1, -1, false};
    llama_sampler_apply(grammar_.get(), &array);
    return one.logit != -INFINITY;
}

/// Samples again, the grammar first. It is not asked first for each token, since it has to look at the whole
/// vocabulary then.
Sampler::Pick Sampler::sample_grammatical(std::span<const float> logits) {
    if (is_grammar_broken_) {
        return dead_end();
    }
    Scratch& s = scratch();
    fill_all(logits, s.data);
    llama_token_data_array all = array_of(s.data, false);
    llama_sampler_apply(grammar_.get(), &all);
    s.masked.resize(logits.size());
    for (std::size_t i = 0; i < all.size; ++i) {
        s.masked[static_cast<std::size_t>(all.data[i].id)] = all.data[i].logit;
    }
    const Best best = best_of(adjusted(s.masked));
    if (!(best.candidate.logit > -INFINITY)) {
        return dead_end();
    }
    const Token token = sample(s.masked);
    return {grammar_allows(token) ? token : best.candidate.token, false};
}

Sampler::Pick Sampler::dead_end() const {
    return {vocab_.eog.empty() ? 0 : vocab_.eog.front(), true};
}

void Sampler::accept(Pick& pick) {
    if (pick.is_dead_end) {
        return;
    }
    if (grammar_) {
        try {
            llama_sampler_accept(grammar_.get(), pick.token);
        } catch (const std::exception&) {
            // libllama throws when a token leads nowhere, and the grammar cannot be asked again after that.
            is_grammar_broken_ = true;
            pick = dead_end();
            return;
        }
    }
    remember(pick.token);
}

void Sampler::accept_prompt(std::span<const Token> prompt) {
    // No sampler remembers more than n_history tokens.
    const std::size_t n = std::min(prompt.size(), static_cast<std::size_t>(plan_.n_history));
    for (const Token t : prompt.last(n)) {
        remember(t);
    }
}

void Sampler::remember(Token token) {
    const auto i = static_cast<std::size_t>(token);
    if (token < 0 || token >= vocab_.n_vocab) {
        return;
    }
    if (sparse_) {
        llama_sampler_accept(sparse_.get(), token);
        if (!is_seen_[i]) {
            is_seen_[i] = true;
            seen_.push_back(token);
        }
    }
    llama_sampler_accept(chain_.get(), token);
}

}  // namespace kvalet::text
