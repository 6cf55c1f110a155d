// What the plan decided is carried out here, in its order.
#include <algorithm>
#include <utility>

#include "core/assert.h"
#include "engine/core.h"

namespace kvalet::engine {

namespace {

double ms_between(Micros from_us, Micros to_us) {
    return static_cast<double>(to_us - from_us) / 1000.0;
}

}  // namespace

void Core::apply(const sched::Plan& plan) {
    parts_.clear();
    put_idle_aside(plan);
    for (const sched::Action& action : plan.actions) {
        moved_ |= !std::holds_alternative<sched::Feed>(action);
        std::visit([this](const auto& a) { carry_out(a); }, action);
    }
}

void Core::empty_slot(Slot& slot) {
    if (slot.cells > Cells{0} || !slot.cache.empty()) {
        backend.clear(slot.id);
    }
    slot.cells = Cells{0};
    slot.cache.clear();
}

void Core::carry_out(const sched::EvictIdle& a) {
    Slot& slot = slot_at(a.slot);
    copy_aside(slot);  // P1.3
    empty_slot(slot);
}

// A park (P3):
//  1. swap: the exact size is asked for, memory is taken, the bytes are copied.
//  2. If any of this fails the sequence is dropped instead (P3.2); if it cannot be replayed, it stays.
//  3. Its cells are given back. Task, sampler, text and stream are not touched.
void Core::carry_out(const sched::Park& a) {
    Sequence& s = alive(a.task);
    Slot& slot = slot_at(s.slot);
    const Micros start_us = clock.now_us();
    ParkRecord record{s.task,   slot.id, a.reason,    a.mode,       slot.cells,
                      Bytes{0}, 0,       s.parks + 1, free_cells(), Cells{0}};
    if (a.mode == sched::ParkMode::swap) {  // 1.
        auto buffer = store_.take(backend.snapshot_size(slot.id));
        if (buffer && backend.save(slot.id, buffer->bytes())) {
            s.snapshot = std::move(*buffer);
            record.bytes = s.snapshot.size();
        } else {
            record.mode = sched::ParkMode::drop;  // 2.
        }
    }
    if (record.mode == sched::ParkMode::drop && !backend.caps().can_replay) {
        observer.on_warning("task " + std::to_string(s.task.value()) +
                            " could not be copied out and stays resident");
        return;
    }
    backend.clear(slot.id);  // 3.
    slot.cells = Cells{0};
    s.become(record.mode == sched::ParkMode::swap ? SequenceState::swapped : SequenceState::dropped);
    ++s.parks;
    s.parked_at = ++parkings_;
    s.parked_since_us = clock.now_us();
    s.held = a.reason == sched::ParkReason::explicit_park;
    s.park_asked = false;
    s.since_forced = Tokens{0};
    s.last_mode = record.mode;
    s.last_reason = a.reason;
    parked_.push_back(&s);
    ++counters_.n_preempt_total;
    ++(record.mode == sched::ParkMode::swap ? counters_.n_preempt_swap_total
                                            : counters_.n_preempt_recompute_total);
    ++counters_.n_park_by_reason[static_cast<std::size_t>(a.reason)];
    record.ms = ms_between(start_us, s.parked_since_us);
    record.free_after = free_cells();
    histograms_.park_seconds.add(record.ms / 1000.0);
    observer.on_park(record);
    s.request.outbox->push(ParkedNotice{a.reason, static_cast<int>(parked_.size()) - 1});
    if (a.gives_up_slot) {
        leave_slot(s, false);
    }
}

void Core::carry_out(const sched::YieldSlot& a) {
    leave_slot(alive(a.task), false);
}

// A resume (P3.2, P4.1):
//  1. swapped: the bytes go back; if that fails the slot is cleared and the sequence replays as if it had
//  been dropped.
//  2. dropped: it starts again at its first token and catches up; nothing that its client reads shows it.
void Core::carry_out(const sched::Resume& a) {
    Sequence& s = alive(a.task);
    Slot& slot = slot_at(a.slot);
    const Micros start_us = clock.now_us();
    ResumeRecord record{s.task, a.slot,  sched::ParkMode::drop, Cells{0}, s.snapshot.size(), 0,
                        0,      s.parks, free_cells(),          Cells{0}};
    if (s.slot != a.slot) {
        empty_slot(slot);
        slot.sequence = &s;
        s.slot = a.slot;
        --shared->n_free_slots;
    }
    if (s.state() == SequenceState::swapped) {  // 1.
        if (backend.load(slot.id, s.snapshot.bytes())) {
            slot.cells = cells_of(s.computed);
            record.mode = sched::ParkMode::swap;
            record.cells = slot.cells;
            s.become(s.computed >= s.n_prompt && !s.replaying() ? SequenceState::decoding
                                                                : SequenceState::prefilling);
        } else {
            backend.clear(slot.id);
            ++counters_.n_restore_failed_total;
            s.become(SequenceState::dropped);
        }
        s.snapshot.release();
    }
    if (s.state() == SequenceState::dropped) {  // 2.
        s.replay_end = s.most_computed();
        s.computed = Tokens{0};
        s.become(SequenceState::prefilling);
    }
    s.run = Tokens{0};
    std::erase(parked_, &s);
    ++counters_.n_resume_total;
    const Micros end_us = clock.now_us();
    s.timed_until_us = end_us;
    record.ms = ms_between(start_us, end_us);
    record.parked_ms = ms_between(s.parked_since_us, end_us);
    record.free_after = free_cells();
    histograms_.restore_seconds.add(record.ms / 1000.0);
    histograms_.parked_seconds.add(record.parked_ms / 1000.0);
    observer.on_resume(record);
    s.request.outbox->push(ResumedNotice{});
}

void Core::carry_out(const sched::Admit& a) {
    Sequence& s = alive(a.task);
    Slot& slot = slot_at(a.slot);
    if (slot.sequence != nullptr) {
        return;  // whoever was to give it up could neither be copied nor replayed, and stayed
    }
    Tokens keep = reuse_prompt(slot, s, a.keep);
    if (keep > Tokens{0}) {
        keep = backend.truncate(slot.id, keep);
    } else if (slot.cells > Cells{0}) {
        backend.clear(slot.id);
    }
    slot.cells = cells_of(keep);
    slot.cache.clear();
    slot.sequence = &s;
    s.slot = slot.id;
    s.computed = s.n_cached = keep;
    s.become(SequenceState::prefilling);
    std::erase(waiting_, &s);
    --shared->n_waiting;
    --shared->n_free_slots;
    counters_.prompt_tokens_cached_total += static_cast<std::uint64_t>(keep.value());
    promote_those_passed_over(s);
    s.request.outbox->push(Started{slot.id, s.n_prompt, keep});
    if (s.request.return_progress) {
        s.request.outbox->push(Progress{s.n_prompt, keep, keep, 0});
    }
}

/// A request that a later one overtakes comes a step nearer to it each time, so that nobody is passed over
/// for ever.
void Core::promote_those_passed_over(const Sequence& let_in) {
    for (Sequence* other : waiting_) {
        other->passes += other->task < let_in.task ? 1 : 0;
    }
    for (Sequence* other : parked_) {
        other->passes += !other->held && other->task < let_in.task ? 1 : 0;
    }
    sort_queue();
}

void Core::carry_out(const sched::Attach& a) {
    Sequence& parent = alive(a.parent);
    for (Sequence* child : parent.children) {
        if (child->slot == kNoSlot) {
            Slot& slot = slot_at(a.slot);
            empty_slot(slot);
            slot.sequence = child;
            child->slot = slot.id;
            child->become(SequenceState::prefilling);
            --shared->n_free_slots;
            child->request.outbox->push(Started{slot.id, child->n_prompt, parent.n_cached});
            return;
        }
    }
}

void Core::carry_out(const sched::Finish& a) {
    finish(alive(a.task), text::StopType::limit, {}, true);
}

// llama-server's behaviour with preemption off: the pool is full, and everybody in it fails
// (llama-server-api 3.10).
void Core::carry_out(const sched::FailAll&) {
    for (Slot& slot : slots_) {
        if (slot.sequence != nullptr && slot.sequence->resident()) {
            Sequence& s = *slot.sequence;
            leave_slot(s, false);
            fail(s, make_error(ErrorKind::server, "Context size has been exceeded."));
        }
    }
}

void Core::carry_out(const sched::Feed& a) {
    Sequence& s = alive(a.task);
    // Less than planned is left where a restore failed or more cache was kept: what it has, it computes.
    const Tokens n = std::min(a.n, s.length() - s.computed);
    if (s.resident() && n > Tokens{0}) {
        parts_.push_back(BatchPart{&s, n, 0});
    }
}

void Core::leave_slot(Sequence& s, bool keep_cache) {
    if (s.slot == kNoSlot) {
        return;
    }
    if (s.owns_prompt) {
        pass_on_prompt(s);
    }
    Slot& slot = slot_at(s.slot);
    slot.last = info_of(s);
    slot.last_used = ++uses_;
    slot.sequence = nullptr;
    s.slot = kNoSlot;
    ++shared->n_free_slots;
    // What children hold beyond the shared prompt is of no use to anybody else.
    const bool keep = keep_cache && s.resident() && (s.family == TaskId{0} || s.owns_prompt);
    if (keep && slot.cells > Cells{0}) {
        slot.cache.assign(s.tokens.begin(), s.tokens.begin() + s.computed.value());
    } else {
        backend.clear(slot.id);
        slot.cells = Cells{0};
        slot.cache.clear();
    }
}

void Core::finish(Sequence& s, text::StopType stop, std::string word, bool truncated) {
    Finished f;
    f.slot = s.slot;
    f.stop = stop;
    f.stopping_word = std::move(word);
    f.truncated = truncated;
    f.has_new_line = s.request.generation->has_new_line();
    f.n_prompt = s.n_prompt;
    f.n_decoded = s.n_decoded();
    f.n_cached_now = s.computed;
    f.timings = s.timings(clock.now_us());
    ++counters_.n_finished_total;
    orphan(s, make_error(ErrorKind::server, "The prompt could not be computed"));
    const std::shared_ptr<Outbox> outbox = s.request.outbox;
    leave_slot(s, true);
    bury(s);
    publish(true);  // who reads the end of a stream finds its slot free
    outbox->push(std::move(f));
}

void Core::fail(Sequence& s, Error error) {
    ++counters_.n_failed_total;
    orphan(s, error);
    const std::shared_ptr<Outbox> outbox = s.request.outbox;
    leave_slot(s, false);
    bury(s);
    publish(true);
    outbox->push(Failed{std::move(error)});
}

void Core::bury(Sequence& s) {
    const auto n_decoded = static_cast<std::uint64_t>(s.n_decoded().value());
    const Timings t = s.timings(clock.now_us());
    counters_.tokens_predicted_total += n_decoded;
    counters_.tokens_predicted_seconds_total += t.predicted_ms / 1000.0;
    histograms_.parks_per_request.add(s.parks);
    if (s.state() == SequenceState::waiting) {
        --shared->n_waiting;
    }
    std::erase(waiting_, &s);
    std::erase(parked_, &s);
    std::erase_if(parts_, [&s](const BatchPart& p) { return p.sequence == &s; });
    s.become(SequenceState::finished);
    sequences_.erase(s.task);  // the last word: s is gone
}

}  // namespace kvalet::engine
