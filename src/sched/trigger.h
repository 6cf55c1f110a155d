// When something must be parked: does the coming step fit (P1.1, P1.2)?
#pragma once

#include <span>

#include "sched/policy.h"
#include "sched/view.h"

namespace kvalet::sched {

/// Marks in Plan::resident_marks and idle_marks.
constexpr char kStays = 0;   // resident: stays; idle slot: keeps its cache; parked: stays parked
constexpr char kLeaves = 1;  // resident: parked; idle slot: emptied; parked: comes back
constexpr char kTaken = 2;   // idle slot: given to a sequence by this plan; parked: gives up its slot

/// P1.1. The cells that the coming step may claim for the residents that stay. Of their prompts one small
/// chunk: where nobody decodes and there is room a step feeds more of them, but nobody is parked for that.
/// Whoever leaves makes it smaller, never larger.
[[nodiscard]] Cells step_reserve(const View& view, const Policy& policy, std::span<const char> marks);

/// The cells that the residents that stay are sure to claim: like step_reserve, but with the whole rest of
/// each prompt. What comes back or is let in must fit beside it, so that two prompts are never promised the
/// same cells (F5).
[[nodiscard]] Cells claims(const View& view, std::span<const char> marks);
[[nodiscard]] Cells claim_of(const Resident& r);

/// P1.2. A step that needs more parks somebody: the pool, or HIGH of it.
[[nodiscard]] Cells park_limit(const View& view, const Policy& policy);

/// P1.2, P4.4. What comes back or is let in must stay within: the pool, or LOW of it.
[[nodiscard]] Cells resume_limit(const View& view, const Policy& policy);

}  // namespace kvalet::sched
