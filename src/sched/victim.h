// Who is parked (P2): the whole rule is in victim.cpp.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "sched/policy.h"
#include "sched/view.h"

namespace kvalet::sched {

/// The index of the next victim among the residents that stay, or nothing when nobody can be parked. `held`:
/// host memory in use, what this plan adds to it included. `survivor`: never a victim (P2.3).
[[nodiscard]] std::optional<std::size_t> choose_victim(const View& view, const Policy& policy,
                                                       std::span<const char> marks, Bytes held,
                                                       std::optional<TaskId> survivor);

/// The same; when that is nobody, because all others are families or can be parked in no way, the protected
/// one itself: parked it runs to its end later, while one that cannot be parked would have to end before its
/// time.
[[nodiscard]] std::optional<std::size_t> choose_victim_at_last(const View& view, const Policy& policy,
                                                               std::span<const char> marks, Bytes held,
                                                               std::optional<TaskId> survivor);

/// P2.3. Who keeps running while pressure lasts: the one chosen before, unless it is gone or a resident of
/// higher priority is there; else the highest effective tier, then the longest, then the oldest. One that its
/// reader holds up is no survivor while another is there. Only for VictimOrder::priority.
[[nodiscard]] std::optional<TaskId> choose_survivor(const View& view, const Policy& policy,
                                                    std::span<const char> marks);

}  // namespace kvalet::sched
