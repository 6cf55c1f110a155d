// The snapshot that the world reads.
#include <algorithm>
#include <utility>

#include "engine/core.h"

namespace kvalet::engine {

SequenceInfo Core::info_of(const Sequence& s) const {
    SequenceInfo i;
    i.task = s.task;
    i.public_id = s.request.public_id;
    i.state = s.state();
    i.slot = s.slot;
    i.priority = s.priority;
    i.effective_priority = effective_priority(s);
    i.n_prompt = s.n_prompt;
    i.n_prompt_processed = s.n_prompt_done;
    i.n_prompt_cached = s.n_cached;
    i.n_decoded = s.n_decoded();
    i.n_remain = s.request.n_predict < 0 ? -1 : s.request.n_predict - s.n_decoded().value();
    i.has_new_line = s.request.generation->has_new_line();
    i.n_cells = s.resident() ? cells_of(s.computed) : Cells{0};
    i.is_preempted = s.parked();
    i.parked_by_client = s.held;
    i.n_preempt = static_cast<std::uint32_t>(s.parks);
    i.n_recompute = s.n_recompute;
    i.preempt_mode = s.last_mode;
    i.preempt_reason = s.last_reason;
    i.preempt_ms = s.parked() ? static_cast<double>(clock.now_us() - s.parked_since_us) / 1000.0 : 0.0;
    i.parked_bytes = s.snapshot.size();
    i.params_json = s.request.params_json;
    return i;
}

void Core::publish(bool always) {
    const Micros now_us = clock.now_us();
    if (!always && now_us - published_us_ < config.publish_us) {
        return;
    }
    published_us_ = now_us;
    auto snap = std::make_shared<Snapshot>();
    snap->step = step_;
    snap->pool = backend.caps().pool;
    snap->used = used();
    snap->n_ctx_slot = n_ctx_slot();
    snap->unified = config.unified;
    snap->draining = shared->draining;
    snap->preempt = config.policy.preempt && config.unified;
    snap->budget_bytes = config.policy.budget_bytes;
    snap->parked_bytes = store_.held();
    snap->parked_bytes_max = store_.high_water();
    snap->cache_ram_bytes = prompt_cache_.held();
    snap->n_preempted = static_cast<std::uint32_t>(parked_.size());
    snap->n_deferred = static_cast<std::uint32_t>(waiting_.size());
    snap->slots.reserve(slots_.size());
    for (const Slot& slot : slots_) {
        SlotInfo info;
        info.id = slot.id;
        info.is_processing = slot.sequence != nullptr;
        info.used = info.is_processing || slot.last.has_value();
        info.n_tokens = Tokens{slot.cells.value()};
        info.sequence = info.is_processing ? std::optional(info_of(*slot.sequence)) : slot.last;
        snap->n_processing += info.is_processing && slot.sequence->resident() ? 1U : 0U;
        snap->used_idle += info.is_processing ? Cells{0} : slot.cells;
        snap->slots.push_back(std::move(info));
    }
    for (std::size_t i = 0; i < std::min(waiting_.size(), Snapshot::kMaxListedWaiting); ++i) {
        snap->waiting.push_back(info_of(*waiting_[i]));
    }
    snap->queue.reserve(waiting_.size());
    for (const Sequence* s : waiting_) {
        snap->queue.push_back(s->task);
    }
    for (const Sequence* s : parked_) {
        if (s->slot == kNoSlot) {
            snap->parked_without_slot.push_back(info_of(*s));
        }
    }
    snap->counters = counters_;
    snap->histograms = histograms_;
    const std::lock_guard lock(shared->snapshot_mutex);
    shared->snapshot = std::move(snap);
}

}  // namespace kvalet::engine
