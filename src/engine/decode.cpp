// The batch of a step: built, decoded, sampled.
#include <algorithm>
#include <utility>

#include "core/assert.h"
#include "engine/core.h"

namespace kvalet::engine {

namespace {

/// How often in a row a sequence that is alone may be refused a cell that the ledger has.
constexpr int kMaxRefusals = 8;

}  // namespace

void Core::build_batch() {
    batch_.clear();
    for (BatchPart& part : parts_) {
        part.first = batch_.size();
        const Sequence& s = *part.sequence;
        for (std::int64_t i = 0; i < part.n.value(); ++i) {
            const std::int64_t pos = s.computed.value() + i;
            const bool last = pos + 1 == s.length().value();
            batch_.push_back(BatchEntry{s.tokens[static_cast<std::size_t>(pos)],
                                        static_cast<std::int32_t>(pos), s.slot, last});
        }
    }
}

// The backend's answer:
//  1. ok: the ledger follows.
//  2. no room although the ledger had some (P1.7): make way and try the same batch without who left.
//  3. anything else: the sequences of this batch fail, nobody else does.
void Core::decode() {
    while (!parts_.empty()) {
        build_batch();
        const DecodeStatus status = backend.decode(batch_);
        if (status == DecodeStatus::ok) {  // 1.
            ++counters_.n_decode_total;
            refusals_ = 0;
            counters_.n_busy_slots_total += parts_.size();
            for (const BatchPart& part : parts_) {
                account(part);
            }
            return;
        }
        if (status == DecodeStatus::no_room) {  // 2.
            ++counters_.n_kv_full_total;
            observer.on_kv_full(used(), backend.caps().pool);
            if (make_way()) {
                continue;
            }
        }
        const char* message = status == DecodeStatus::no_room         ? "Context size has been exceeded."
                              : status == DecodeStatus::invalid_batch ? "Invalid input batch."
                                                                      : "Compute error.";
        while (!parts_.empty()) {  // 3.
            fail(*parts_.front().sequence, make_error(ErrorKind::server, message));
        }
    }
}

// P1.7, a pool that is full against the ledger's word:
//  1. Idle slots are emptied, all of them: the ledger is not to be trusted about how much that brings.
//  2. The next victim is parked and leaves the batch.
//  3. The last part stands aside for this step.
//  4. A part that is alone and has no room for one token ends as any sequence does that fills the pool
//  (P4.6).
bool Core::make_way() {
    bool emptied = false;
    for (Slot& slot : slots_) {  // 1.
        if (slot.sequence == nullptr && slot.cells > Cells{0}) {
            empty_slot(slot);
            emptied = true;
        }
    }
    if (emptied) {
        return true;
    }
    if (!config.policy.preempt) {
        return false;
    }
    observe();
    if (const auto park = sched::one_more_victim(view_, config.policy)) {  // 2.
        Sequence& s = alive(park->task);
        carry_out(*park);
        if (s.parked()) {
            std::erase_if(parts_, [&s](const BatchPart& p) { return p.sequence == &s; });
            return true;
        }
    }
    if (parts_.size() > 1) {  // 3.
        parts_.pop_back();
        return true;
    }
    if (parts_.front().n > Tokens{1}) {  // 4.
        parts_.front().n = Tokens{1};
        return true;
    }
    if (++refusals_ > kMaxRefusals) {
        finish(*parts_.front().sequence, text::StopType::limit, {}, true);
    }
    parts_.clear();
    return true;
}

void Core::account(const BatchPart& part) {
    Sequence& s = *part.sequence;
    const Tokens before = s.computed;
    const Tokens after = before + part.n;
    s.computed = after;
    slot_at(s.slot).cells += cells_of(part.n);
    const Tokens replayed = std::max(Tokens{0}, std::min(after, s.replay_end) - before);
    const Tokens fresh = std::max(Tokens{0}, std::min(after, s.n_prompt) - std::max(before, s.replay_end));
    s.fed = part.n;
    s.fed_again = replayed;
    s.n_recompute += static_cast<std::uint64_t>(replayed.value());
    s.n_prompt_done += fresh;
    counters_.n_recompute_tokens_total += static_cast<std::uint64_t>(replayed.value());
    counters_.prompt_tokens_total += static_cast<std::uint64_t>(fresh.value());
    counters_.n_tokens_max = std::max(counters_.n_tokens_max, static_cast<std::uint64_t>(s.length().value()));
    if (fresh > Tokens{0} && s.request.return_progress) {
        keep_time(s, clock.now_us());
        s.request.outbox->push(Progress{s.n_prompt, s.n_cached, std::min(after, s.n_prompt),
                                        static_cast<double>(s.prompt_us) / 1000.0});
    }
}

void Core::sample() {
    for (std::size_t i = 0; i < parts_.size();) {
        const BatchPart part = parts_[i];
        Sequence& s = *part.sequence;
        if (s.computed != s.length()) {
            ++i;
            continue;  // still catching up
        }
        const std::size_t row = part.first + static_cast<std::size_t>(part.n.value()) - 1;
        const std::vector<Sequence*> children = std::move(s.children);
        s.children.clear();
        share_prompt(s, children);
        const std::size_t alive_before = parts_.size();
        take_token(s, choose(s, backend.logits(row)));
        i += parts_.size() == alive_before ? 1U : 0U;  // one that ended has left the parts
        for (Sequence* child : children) {
            take_token(*child,
                       choose(*child, backend.logits(row)));  // its first token comes from the same row
        }
    }
}

text::Piece Core::choose(Sequence& s, std::span<const float> logits) {
    if (s.n_decoded() == Tokens{0}) {
        s.request.generation->begin(s.tokens);
    }
    if (s.state() == SequenceState::prefilling) {
        s.become(SequenceState::decoding);
    }
    return s.request.generation->next(logits,
                                      text::StepFacts{s.computed + Tokens{1} >= n_ctx_slot(), s.predict_us});
}

void Core::take_token(Sequence& s, text::Piece piece) {
    const Micros now_us = clock.now_us();
    keep_time(s, now_us);
    if (s.n_decoded() == Tokens{0}) {
        s.first_token_us = now_us;
        counters_.prompt_seconds_total += static_cast<double>(s.prompt_us) / 1e6;
    }
    s.tokens.push_back(piece.token);
    s.run += Tokens{1};
    s.since_forced += Tokens{1};
    const text::StopType stop = piece.stop;
    const bool truncated = piece.truncated;
    std::string word = piece.stopping_word;
    s.request.outbox->push(TokenOut{std::move(piece), s.n_prompt, s.n_decoded(), s.timings(now_us)});
    if (stop != text::StopType::none) {
        finish(s, stop, std::move(word), truncated);
    }
}

// The time of a step counts for whoever was resident in it: as prompt time until the first token is there,
// then as time of prediction, and not at all while a replay catches up (P6.3). A step that ends a replay and
// goes on counts in part.
void Core::keep_time() {
    const Micros now_us = clock.now_us();
    for (Slot& slot : slots_) {
        if (slot.sequence != nullptr && slot.sequence->resident()) {
            keep_time(*slot.sequence, now_us);
            slot.sequence->fed = slot.sequence->fed_again = Tokens{0};
        }
    }
}

void Core::keep_time(Sequence& s, Micros now_us) {
    const Micros from_us = std::max(step_started_us_, s.timed_until_us);
    s.timed_until_us = now_us;
    (s.n_decoded() == Tokens{0} ? s.prompt_us : s.predict_us) += s.without_replay(now_us - from_us);
}

}  // namespace kvalet::engine
