#include "text/sampler_plan.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "text/select.h"

namespace kvalet::text {

namespace {

Error bad_samplers(const std::string& why) {
    return make_error(ErrorKind::invalid_request, "Failed to initialize samplers: " + why);
}

struct Name {
    std::string_view name;            // without '_' and '-', lower case
    std::optional<SamplerKind> kind;  // nothing: adaptive_p, which is no link of the chain but its end
};

constexpr std::array kNames = {
    Name{"penalties", SamplerKind::penalties},
    Name{"dry", SamplerKind::dry},
    Name{"topnsigma", SamplerKind::top_n_sigma},
    Name{"topk", SamplerKind::top_k},
    Name{"typp", SamplerKind::typ_p},
    Name{"typ", SamplerKind::typ_p},
    Name{"topp", SamplerKind::top_p},
    Name{"nucleus", SamplerKind::top_p},
    Name{"minp", SamplerKind::min_p},
    Name{"xtc", SamplerKind::xtc},
    Name{"temperature", SamplerKind::temperature},
    Name{"temp", SamplerKind::temperature},
    Name{"infill", SamplerKind::infill},
    Name{"adaptivep", std::nullopt},
};

const Name* find_name(std::string_view given) {
    std::string plain;
    for (const char c : given) {
        if (c != '_' && c != '-') {
            plain.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
        }
    }
    const auto* const found =
        std::find_if(kNames.begin(), kNames.end(), [&](const Name& n) { return n.name == plain; });
    return found == kNames.end() ? nullptr : &*found;
}

bool penalties_active(const SamplingParams& p) {
    return p.repeat_last_n > 0 &&
           (p.repeat_penalty != 1.0F || p.frequency_penalty != 0.0F || p.presence_penalty != 0.0F);
}

bool dry_active(const SamplingParams& p) {
    return p.dry_multiplier != 0.0F && p.dry_base >= 1.0F && p.dry_penalty_last_n > 0;
}

/// Whether the sampler does anything: libllama's own conditions.
bool is_active(SamplerKind kind, const SamplingParams& p) {
    switch (kind) {
        case SamplerKind::penalties:
            return penalties_active(p);
        case SamplerKind::dry:
            return dry_active(p);
        case SamplerKind::top_n_sigma:
            return p.top_n_sigma > 0.0F;
        case SamplerKind::top_k:
            return p.top_k > 0;
        case SamplerKind::typ_p:
            return p.typical_p < 1.0F;
        case SamplerKind::top_p:
            return p.top_p < 1.0F;
        case SamplerKind::min_p:
            return p.min_p > 0.0F;
        case SamplerKind::xtc:
            return p.xtc_probability > 0.0F && p.xtc_threshold <= 0.5F;
        case SamplerKind::temperature:
            return p.temperature != 1.0F || p.dynatemp_range > 0.0F;
        case SamplerKind::infill:
            return true;
    }
    return true;
}

bool is_sparse(SamplerKind kind) {
    return kind == SamplerKind::penalties || kind == SamplerKind::dry;
}

/// 1. A temperature of 0 leaves one token, the largest logit of those still there.
/// 2. These samplers never drop the largest: top_k, top_p, min_p, top_n_sigma. Typical and XTC may.
bool is_greedy(const SamplerPlan& plan, const SamplingParams& p) {
    if (plan.last != SamplerPlan::Last::dist || p.temperature > 0.0F || p.dynatemp_range > 0.0F) {
        return false;
    }
    bool cold = false;
    for (const SamplerKind kind : plan.rest) {
        switch (kind) {
            case SamplerKind::temperature:
                cold = true;
                break;
            case SamplerKind::top_k:
            case SamplerKind::top_p:
            case SamplerKind::min_p:
            case SamplerKind::top_n_sigma:
                break;
            default:
                return false;
        }
    }
    return cold;
}

std::optional<Error> check_numbers(const SamplingParams& p) {
    if (!std::isfinite(p.repeat_penalty) || p.repeat_penalty <= 0.0F ||
        !std::isfinite(1.0F / p.repeat_penalty)) {
        return bad_samplers("repeat_penalty must be finite and greater than 0");
    }
    if (!std::isfinite(p.frequency_penalty)) {
        return bad_samplers("frequency_penalty must be finite");
    }
    if (!std::isfinite(p.presence_penalty)) {
        return bad_samplers("presence_penalty must be finite");
    }
    if (p.mirostat < 0 || p.mirostat > 2) {
        return bad_samplers("mirostat must be 0, 1 or 2");
    }
    if (p.dry_sequence_breakers.size() > kMaxDryBreakers) {
        return bad_samplers("dry_sequence_breakers has more than " + std::to_string(kMaxDryBreakers) +
                            " entries");
    }
    return std::nullopt;
}

/// libllama's infill sampler compares every candidate with every other: over a whole vocabulary it takes
/// minutes.
bool infill_sees_few(const SamplerPlan& plan, const SamplingParams& p) {
    const auto infill = std::find(plan.rest.begin(), plan.rest.end(), SamplerKind::infill);
    const auto top_k = std::find(plan.rest.begin(), infill, SamplerKind::top_k);
    return infill == plan.rest.end() || (top_k != infill && static_cast<std::size_t>(p.top_k) <= kMaxSelect);
}

void cut_chain(SamplerPlan& plan, const SamplingParams& p) {
    const auto first_dense = std::find_if_not(plan.rest.begin(), plan.rest.end(), is_sparse);
    plan.sparse.assign(plan.rest.begin(), first_dense);
    plan.rest.erase(plan.rest.begin(), first_dense);
    plan.greedy = is_greedy(plan, p);
    if (!plan.rest.empty() && plan.rest.front() == SamplerKind::top_k &&
        static_cast<std::size_t>(p.top_k) <= kMaxSelect) {
        plan.select_k = p.top_k;
        plan.rest.erase(plan.rest.begin());
    }
}

}  // namespace

Result<SamplerPlan> plan_samplers(SamplingParams& p, std::int32_t n_ctx) {
    if (auto error = check_numbers(p)) {
        return *error;
    }
    // A sequence never holds more than n_ctx tokens; libllama would reserve memory for whatever is asked.
    const auto last_n = [n_ctx](std::int32_t n) { return n == -1 ? n_ctx : std::clamp(n, 0, n_ctx); };
    p.repeat_last_n = last_n(p.repeat_last_n);
    p.dry_penalty_last_n = last_n(p.dry_penalty_last_n);

    SamplerPlan plan;
    for (const std::string& given : p.samplers) {
        const Name* name = find_name(given);
        if (name == nullptr) {
            return bad_samplers("unknown sampler '" + given + "'");
        }
        if (!name->kind) {
            plan.last = SamplerPlan::Last::adaptive_p;
        } else if (is_active(*name->kind, p)) {
            plan.rest.push_back(*name->kind);
        }
    }
    if (!infill_sees_few(plan, p)) {
        return bad_samplers("infill needs a top_k of at most " + std::to_string(kMaxSelect) + " before it");
    }
    if (p.mirostat != 0) {  // it stands for the whole chain but the temperature
        plan.rest.clear();
        if (p.temperature != 1.0F) {
            plan.rest.push_back(SamplerKind::temperature);
        }
        plan.last = p.mirostat == 1 ? SamplerPlan::Last::mirostat_1 : SamplerPlan::Last::mirostat_2;
        return plan;
    }
    for (const SamplerKind kind : plan.rest) {
        const std::int32_t n = kind == SamplerKind::penalties ? p.repeat_last_n
                               : kind == SamplerKind::dry     ? p.dry_penalty_last_n
                                                              : 0;
        plan.n_history = std::max(plan.n_history, n);
    }
    cut_chain(plan, p);
    return plan;
}

}  // namespace kvalet::text
