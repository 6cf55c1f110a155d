#include "text/select.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <functional>

#include "core/assert.h"

namespace kvalet::text {

namespace {

/// Logits looked at together. Nearly all blocks hold nothing of interest, and to see that takes the compiler
/// a few vector instructions.
constexpr std::size_t kBlock = 64;

template <class Compare>
bool any_in_block(const float* logits, float bar, Compare compare) {
    int any = 0;
    for (std::size_t i = 0; i < kBlock; ++i) {
        any |= static_cast<int>(compare(logits[i], bar));
    }
    return any != 0;
}

/// Calls `visit(i)` for each i >= begin in rising order whose logit may pass `compare` with `bar`, which
/// visit() may raise.
template <class Compare, class Visit>
void scan(std::span<const float> logits, std::size_t begin, const float& bar, Compare compare, Visit visit) {
    std::size_t i = begin;
    for (; i + kBlock <= logits.size(); i += kBlock) {
        if (!any_in_block(logits.data() + i, bar, compare)) {
            continue;
        }
        for (std::size_t j = i; j < i + kBlock; ++j) {
            if (compare(logits[j], bar)) {
                visit(j);
            }
        }
    }
    for (; i < logits.size(); ++i) {
        if (compare(logits[i], bar)) {
            visit(i);
        }
    }
}

}  // namespace

Best best_of(std::span<const float> logits) {
    KVALET_ASSERT(!logits.empty(), "a row of logits is as long as the vocabulary");
    Best best{{0, logits[0]}, false};
    scan(logits, 1, best.candidate.logit, std::greater_equal<float>(), [&](std::size_t i) {
        if (logits[i] > best.candidate.logit) {
            best = Best{{static_cast<Token>(i), logits[i]}, false};
        } else {
            best.tied = true;
        }
    });
    return best;
}

void top_k_of(std::span<const float> logits, std::size_t k, std::vector<Candidate>& out) {
    KVALET_ASSERT(k >= 1 && k <= kMaxSelect, "top_k_of serves the sizes that libllama partially sorts");
    k = std::min(k, logits.size());
    out.clear();
    float heap[kMaxSelect];  // the k largest so far, the least of them in front
    for (std::size_t i = 0; i < k; ++i) {
        heap[i] = logits[i];
        out.push_back({static_cast<Token>(i), logits[i]});
    }
    std::make_heap(heap, heap + k, std::greater<>());
    // A partial sort looks at the row in order and lets in what is larger than the least it holds. What it
    // would not let in leaves no trace in it, so a sort of those it would let in gives the same result.
    scan(logits, k, heap[0], std::greater<float>(), [&](std::size_t i) {
        out.push_back({static_cast<Token>(i), logits[i]});
        std::pop_heap(heap, heap + k, std::greater<>());
        heap[k - 1] = logits[i];
        std::push_heap(heap, heap + k, std::greater<>());
    });
    const auto larger = [](const Candidate& a, const Candidate& b) { return a.logit > b.logit; };
    std::partial_sort(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(k), out.end(), larger);
    out.resize(k);
}

double log_sum_exp(std::span<const float> logits) {
    const float max = best_of(logits).candidate.logit;
    double sum = 0;
    for (const float logit : logits) {
        sum += static_cast<double>(std::exp(logit - max));
    }
    return static_cast<double>(max) + std::log(sum);
}

float log_prob(float logit, double row_log_sum_exp) {
    const double log_p = static_cast<double>(logit) - row_log_sum_exp;
    const double least = std::log(static_cast<double>(FLT_TRUE_MIN));
    return log_p >= least ? static_cast<float>(log_p) : -FLT_MAX;
}

}  // namespace kvalet::text
