#include "sched/victim.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "sched/mechanism.h"
#include "sched/trigger.h"

namespace kvalet::sched {

namespace {

/// 0: parked without regret. Each of P2.2 and P4.3 lets a sequence be passed over while another candidate
/// exists.
int regret(const Resident& r, const Policy& policy) {
    const bool starved = r.parks >= policy.n_starved;
    const bool replaying = phase_of(r) == Phase::replaying;
    const bool fresh = r.parks > 0 && r.run < policy.min_run;
    return (starved ? 4 : 0) + (replaying ? 2 : 0) + (fresh ? 1 : 0);
}

/// The longest of those in `tier` (all tiers with nothing), the oldest of equals: the leader. One that its
/// reader holds up leads nothing.
std::optional<std::size_t> longest(const View& view, const Policy& policy, std::span<const char> marks,
                                   std::optional<std::int32_t> tier) {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < view.residents.size(); ++i) {
        const Resident& r = view.residents[i];
        if (marks[i] != kStays || r.blocked || (tier && effective_priority(r, policy.n_starved) != *tier)) {
            continue;
        }
        if (!best || r.length > view.residents[*best].length ||
            (r.length == view.residents[*best].length && r.task < view.residents[*best].task)) {
            best = i;
        }
    }
    return best;
}

/// Everything that can be parked at all, whatever its rank.
bool candidate(const View& view, const Policy& policy, std::span<const char> marks, Bytes held,
               std::optional<TaskId> survivor, std::size_t i) {
    const Resident& r = view.residents[i];
    return marks[i] == kStays && !r.family && r.task != survivor &&
           mechanism_for(r, policy, held).has_value();
}

/// Smaller is parked first. The last key is the task, so that the order is total (P2.5).
std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::uint64_t> rank(
    const Resident& r, const Policy& policy, bool protected_longest) {
    const std::uint64_t newest_first = ~r.task.value();
    const int runs = r.blocked ? 0 : 1;
    switch (policy.victim) {
        case VictimOrder::smallest:
            return {runs, 0, 0, regret(r, policy), r.length.value(), newest_first};
        case VictimOrder::newest:
            return {runs, 0, 0, regret(r, policy), 0, newest_first};
        case VictimOrder::priority:
            break;
    }
    const std::int64_t length = policy.smallest_in_tier ? r.length.value() : 0;
    return {runs,
            effective_priority(r, policy.n_starved),
            protected_longest ? 1 : 0,
            regret(r, policy),
            length,
            newest_first};
}

}  // namespace

// The order of victims:
//  1. `smallest` and `newest` never take the leader, `priority` never takes the survivor.
//  2. One that its own reader holds up goes first: it loses nothing.
//  3. `priority`: the lowest effective tier first, and in it the longest last.
//  4. One that is starved, replaying or only just back is passed over while another candidate exists.
//  5. `smallest`, and `priority` with smallest_in_tier: fewest tokens. All: newest task.
std::optional<std::size_t> choose_victim(const View& view, const Policy& policy, std::span<const char> marks,
                                         Bytes held, std::optional<TaskId> survivor) {
    const bool tiers = policy.victim == VictimOrder::priority;
    const std::optional<std::size_t> leader =
        tiers ? std::nullopt : longest(view, policy, marks, std::nullopt);
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < view.residents.size(); ++i) {
        if (i == leader || !candidate(view, policy, marks, held, survivor, i)) {
            continue;
        }
        const auto rank_of = [&](std::size_t k) {
            const Resident& r = view.residents[k];
            const bool last =
                tiers && longest(view, policy, marks, effective_priority(r, policy.n_starved)) == k;
            return rank(r, policy, last);
        };
        if (!best || rank_of(i) < rank_of(*best)) {
            best = i;
        }
    }
    return best;
}

std::optional<std::size_t> choose_victim_at_last(const View& view, const Policy& policy,
                                                 std::span<const char> marks, Bytes held,
                                                 std::optional<TaskId> survivor) {
    if (const auto victim = choose_victim(view, policy, marks, held, survivor)) {
        return victim;
    }
    for (std::size_t i = 0; i < view.residents.size(); ++i) {
        if (candidate(view, policy, marks, held, std::nullopt, i)) {
            return i;  // there is one at most: the protected one
        }
    }
    return std::nullopt;
}

std::optional<TaskId> choose_survivor(const View& view, const Policy& policy, std::span<const char> marks) {
    if (policy.victim != VictimOrder::priority) {
        return std::nullopt;
    }
    const auto better = [&](const Resident& a, const Resident& b) {
        const auto key = [&](const Resident& r) {
            return std::tuple(!r.blocked, effective_priority(r, policy.n_starved), r.length, ~r.task.value());
        };
        return key(a) > key(b);
    };
    const Resident* best = nullptr;
    const Resident* kept = nullptr;
    std::int32_t highest = std::numeric_limits<std::int32_t>::min();
    for (std::size_t i = 0; i < view.residents.size(); ++i) {
        const Resident& r = view.residents[i];
        if (marks[i] != kStays) {
            continue;
        }
        if (!r.blocked) {
            highest = std::max(highest, r.priority);
            kept = r.task == view.survivor ? &r : kept;
        }
        best = best == nullptr || better(r, *best) ? &r : best;
    }
    if (kept != nullptr && kept->priority >= highest) {
        return kept->task;
    }
    return best == nullptr ? std::nullopt : std::optional(best->task);
}

}  // namespace kvalet::sched
