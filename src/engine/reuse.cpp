// What becomes of the prompt caches of idle slots: they are put aside into host memory, and come back when a
// prompt begins like them (llama-server-api 3.2).
#include <algorithm>
#include <variant>

#include "engine/core.h"
#include "sched/trigger.h"

namespace kvalet::engine {

/// Copies the idle slot's cache out, unless the copy is there. False when there is no memory for it.
bool Core::copy_aside(const Slot& slot) {
    if (!prompt_cache_.enabled() || slot.cache.empty()) {
        return false;
    }
    if (prompt_cache_.holds(slot.cache)) {
        return true;
    }
    auto buffer = prompt_cache_.make_room(backend.snapshot_size(slot.id));
    if (!buffer || !backend.save(slot.id, buffer->bytes())) {
        return false;
    }
    prompt_cache_.put(slot.cache, std::move(*buffer));
    ++counters_.n_cache_saved_total;
    return true;
}

// Caches of idle slots are in the way of whoever computes, since attention runs over the cells of all. They
// go when somebody is let in or comes back (--cache-idle-slots of llama-server). Slots that the plan gives to
// somebody keep what they have: it was planned with.
void Core::put_idle_aside(const sched::Plan& plan) {
    if (!config.cache_idle_slots || !config.unified || !prompt_cache_.enabled()) {
        return;
    }
    if (std::none_of(plan.actions.begin(), plan.actions.end(), [](const sched::Action& action) {
            return std::holds_alternative<sched::Admit>(action) ||
                   std::holds_alternative<sched::Resume>(action);
        })) {
        return;
    }
    for (std::size_t i = 0; i < view_.idle.size(); ++i) {
        Slot& slot = slot_at(view_.idle[i].slot);
        if (plan.idle_marks[i] != sched::kTaken && copy_aside(slot)) {
            empty_slot(slot);
        }
    }
}

/// Cells that the rest of this step's plan counts on: what it feeds, and what copies bring back.
Cells Core::claimed_by(const sched::Plan& plan) {
    Cells sum{0};
    for (const sched::Action& action : plan.actions) {
        if (const auto* feed = std::get_if<sched::Feed>(&action)) {
            sum += cells_of(feed->n);
        } else if (const auto* resume = std::get_if<sched::Resume>(&action)) {
            const Sequence& s = alive(resume->task);
            sum += s.state() == SequenceState::swapped ? cells_of(s.computed) : Cells{0};
        }
    }
    return sum;
}

// What the slot keeps of its cache for the one that is let in, `planned` tokens, or more of one that was put
// aside:
//  1. What it would lose the half of is put aside first.
//  2. The best of those that were put aside comes back if it is better and there is room for all of it beside
//  what the plan counts on.
//  3. It leaves the store when nothing is lost by that: its continuation will take its place.
Tokens Core::reuse_prompt(Slot& slot, const Sequence& s, Tokens planned) {
    if (!prompt_cache_.enabled() || !config.cache_prompt || !s.request.cache_prompt) {
        return planned;
    }
    if (2 * planned.value() < static_cast<std::int64_t>(slot.cache.size())) {  // 1.
        copy_aside(slot);
    }
    const auto match = prompt_cache_.best(s.tokens, planned);
    if (!match) {
        return planned;
    }
    const PromptCache::Entry& entry = prompt_cache_.at(match->index);
    const auto size = static_cast<std::int64_t>(entry.tokens.size());
    if (Cells{size} + claimed_by(plan_) > free_cells() + slot.cells) {  // 2.
        return planned;
    }
    empty_slot(slot);
    if (!backend.load(slot.id, entry.bytes.bytes())) {
        backend.clear(slot.id);
        prompt_cache_.drop(match->index);
        return Tokens{0};
    }
    slot.cells = Cells{size};
    ++counters_.n_cache_loaded_total;
    if (match->shared.value() == size) {  // 3.
        prompt_cache_.drop(match->index);
    }
    return std::min(match->shared, s.n_prompt - Tokens{1});
}

}  // namespace kvalet::engine
