// How a victim is parked (P3.1, P3.3).
#pragma once

#include <optional>

#include "sched/policy.h"
#include "sched/view.h"

namespace kvalet::sched {

/// 1. A copy that fits what is left of the budget: swap.
/// 2. Else, if its tokens can be replayed: drop.
/// 3. Else nothing: it is no candidate.
/// `held` counts what is parked already and what this plan adds to it.
[[nodiscard]] constexpr std::optional<ParkMode> mechanism_for(const Resident& r, const Policy& policy,
                                                              Bytes held) {
    const bool fits = policy.budget_bytes == kUnlimited ||
                      (policy.budget_bytes > 0 && (held + r.snapshot).value() <= policy.budget_bytes);
    if (r.can_swap && fits) {
        return ParkMode::swap;
    }
    if (r.can_drop) {
        return ParkMode::drop;
    }
    return std::nullopt;
}

}  // namespace kvalet::sched
