// The view of one step, in buffers that are used again.
#include <algorithm>

#include "engine/core.h"

namespace kvalet::engine {

namespace {

sched::Resident resident_of(const Sequence& s, const Slot& slot, const BackendCaps& caps,
                            std::int64_t preempt_every) {
    sched::Resident r;
    r.task = s.task;
    r.slot = slot.id;
    r.priority = s.priority;
    r.parks = s.parks;
    r.passes = s.passes;
    r.n_prompt = s.n_prompt;
    r.length = s.length();
    r.computed = s.computed;
    r.replay_end = s.replay_end;
    r.run = s.run;
    r.cells = slot.cells;
    r.snapshot = Bytes{caps.snapshot_fixed.value() + caps.snapshot_per_token.value() * s.computed.value()};
    r.can_drop = caps.can_replay;
    r.family = s.family != TaskId{0};
    r.blocked = !s.request.outbox->room();
    r.park_forced = preempt_every > 0 && s.family == TaskId{0} && s.since_forced.value() >= preempt_every;
    r.park_asked = s.park_asked;
    return r;
}

sched::Parked parked_of(const Sequence& s) {
    sched::Parked p;
    p.task = s.task;
    p.slot = s.slot;
    p.priority = s.priority;
    p.parks = s.parks;
    p.passes = s.passes;
    p.parked_at = s.parked_at;
    p.n_prompt = s.n_prompt;
    p.length = s.length();
    p.computed = s.most_computed();
    p.stored = s.state() == SequenceState::swapped ? s.computed : Tokens{0};
    p.mode = s.state() == SequenceState::swapped ? sched::ParkMode::swap : sched::ParkMode::drop;
    p.held = s.held || !s.request.outbox->room();
    return p;
}

}  // namespace

void Core::observe() {
    const BackendCaps& caps = backend.caps();
    view_.step = step_;
    view_.unified = config.unified;
    view_.pool = caps.pool;
    view_.used = used();
    view_.n_batch = caps.n_batch;
    view_.n_ubatch = caps.n_ubatch;
    view_.parked_bytes = store_.held();
    view_.survivor = plan_.survivor;
    view_.residents.clear();
    view_.parked.clear();
    view_.waiting.clear();
    view_.idle.clear();
    for (const Slot& slot : slots_) {
        if (slot.sequence == nullptr) {
            view_.idle.push_back(sched::IdleSlot{slot.id, slot.cells, slot.last_used});
        } else if (slot.sequence->resident() && !slot.sequence->awaits_parent) {
            view_.residents.push_back(resident_of(*slot.sequence, slot, caps, config.preempt_every));
        }
    }
    for (const Sequence* s : parked_) {
        view_.parked.push_back(parked_of(*s));
    }
    observe_waiting();
}

// Which slot a waiting request would get (llama-server-api 3.1):
//  1. The one that it asks for; while that is busy it stands aside and those behind it go on.
//  2. The idle slot whose cache shares the most with the prompt, if that is more than the similarity asked
//  for.
//  3. The idle slot that was used least recently.
//  4. None: it is shown without one, since it may be more important than a holder (P1.6).
void Core::observe_waiting() {
    const auto taken = [this](SlotId slot) {
        return std::any_of(view_.waiting.begin(), view_.waiting.end(),
                           [slot](const sched::Waiting& w) { return w.slot == slot; });
    };
    for (const Sequence* s : waiting_) {
        sched::Waiting w;
        w.task = s->task;
        w.priority = s->priority;
        w.passes = s->passes;
        w.n_prompt = s->n_prompt;
        w.n_slots = 1 + static_cast<std::int32_t>(s->children.size());
        const Slot* best = nullptr;
        Tokens best_shared{0};
        for (const Slot& slot : slots_) {
            const bool asked =
                s->request.slot == kNoSlot || s->request.slot.value() % config.n_slots == slot.id.value();
            if (slot.sequence != nullptr || !asked || taken(slot.id)) {
                continue;
            }
            const Tokens shares = config.cache_prompt && s->request.cache_prompt
                                      ? common_prefix(slot.cache, s->tokens)
                                      : Tokens{0};
            const float similarity = static_cast<float>(shares.value()) /
                                     static_cast<float>(std::max<std::int64_t>(1, s->n_prompt.value()));
            const bool similar =
                config.slot_prompt_similarity > 0 && similarity > config.slot_prompt_similarity;
            const bool better = best == nullptr || (similar && shares > best_shared) ||
                                (best_shared == Tokens{0} && !similar && slot.last_used < best->last_used);
            if (better) {
                best = &slot;
                best_shared = similar ? shares : Tokens{0};
            }
        }
        if (best != nullptr) {
            w.slot = best->id;
            const Tokens shares = config.cache_prompt && s->request.cache_prompt
                                      ? common_prefix(best->cache, s->tokens)
                                      : Tokens{0};
            w.keep = std::min(shares,
                              w.n_prompt - Tokens{1});  // one token is always computed: it brings the logits
        } else if (s->request.slot != kNoSlot) {
            continue;
        }
        view_.waiting.push_back(w);
        if (best == nullptr) {
            return;  // one is shown without a slot, no further: a step never costs the length of the queue
        }
    }
}

}  // namespace kvalet::engine
