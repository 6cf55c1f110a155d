// Stage 5 of a plan: who computes how many tokens. Decoding ones first, so that a long prompt never stalls
// their tokens; then prompts and replays, in chunks under the step's budget.
#include <algorithm>

#include "sched/draft.h"

namespace kvalet::sched {

void Draft::add_runner(TaskId task, std::int32_t tier, Tokens n, bool decoding) {
    out.runners.push_back(Runner{task, tier, n, decoding});
}

namespace {

void add_residents(Draft& d) {
    for (std::size_t i = 0; i < d.view.residents.size(); ++i) {
        const Resident& r = d.view.residents[i];
        if (d.out.resident_marks[i] == kStays && !r.blocked && remaining(r) > Tokens{0}) {
            d.add_runner(r.task, d.effective(r), remaining(r) + r.draft, phase_of(r) == Phase::decoding);
        }
    }
}

/// Room that this step may still claim. In split mode each slot has cells of its own, which the engine keeps
/// within bounds.
struct Room {
    Cells left;
    bool bounded;
    [[nodiscard]] bool holds(Tokens n) const { return !bounded || cells_of(n) <= left; }
};

struct Decoded {
    Tokens fed;
    bool all_found_room = true;
};

/// The more important first, then the older: who is fed does not depend on slots (P2.5).
void sort_by_importance(Draft& d) {
    std::sort(d.out.runners.begin(), d.out.runners.end(), [](const Runner& a, const Runner& b) {
        return a.effective != b.effective ? a.effective > b.effective : a.task < b.task;
    });
}

/// All of them in the order of slots; only where they do not all fit the order counts.
Decoded feed_decoding(Draft& d, Room& room) {
    Tokens wanted{0};
    for (const Runner& r : d.out.runners) {
        wanted += r.decoding ? r.remaining : Tokens{0};
    }
    if (!room.holds(wanted) || wanted > d.view.n_batch) {
        sort_by_importance(d);
    }
    Decoded done;
    for (const Runner& r : d.out.runners) {
        if (!r.decoding || done.fed + r.remaining > d.view.n_batch) {
            continue;
        }
        if (!room.holds(r.remaining)) {
            done.all_found_room = false;
            continue;
        }
        d.out.actions.emplace_back(Feed{r.task, r.remaining});
        room.left -= cells_of(r.remaining);
        done.fed += r.remaining;
    }
    return done;
}

void feed_prompts(Draft& d, Room& room, Tokens budget) {
    if (std::all_of(d.out.runners.begin(), d.out.runners.end(), [](const Runner& r) { return r.decoding; })) {
        return;
    }
    sort_by_importance(d);
    for (const Runner& r : d.out.runners) {
        Tokens n = r.decoding ? Tokens{0} : std::min(r.remaining, budget);
        if (room.bounded) {
            n = std::min(n, Tokens{std::max<std::int64_t>(0, room.left.value())});
        }
        if (n > Tokens{0}) {
            d.out.actions.emplace_back(Feed{r.task, n});
            room.left -= cells_of(n);
            budget -= n;
        }
    }
}

}  // namespace

void feed(Draft& d) {
    add_residents(d);
    if (d.out.runners.empty()) {
        return;
    }
    Room room{d.view.pool - d.used, d.view.unified};
    const std::size_t before = d.out.actions.size();
    const Decoded done = feed_decoding(d, room);
    const Tokens chunk =
        done.fed > Tokens{0} ? std::min(d.policy.prefill_chunk, d.view.n_ubatch) : d.view.n_ubatch;
    feed_prompts(d, room, std::max(Tokens{0}, std::min(chunk, d.view.n_batch - done.fed)));
    const bool nothing_fed = d.out.actions.size() == before;
    if (!d.policy.preempt && d.view.unified && (nothing_fed || !done.all_found_room)) {
        // The old behaviour: one that gets no cell takes everybody down (llama-server-api 3.10).
        d.out.actions.resize(before);
        d.out.actions.emplace_back(FailAll{});
    }
}

}  // namespace kvalet::sched
