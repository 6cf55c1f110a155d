#include "engine/engine.h"

#include <algorithm>
#include <utility>

#include "core/assert.h"
#include "engine/core.h"

namespace kvalet::engine {

namespace {

/// How long the engine sleeps at most while nothing happens: only a park time can end by itself.
constexpr std::chrono::milliseconds kLongestSleep{1000};

/// Retry-After of a full queue: about what one short answer takes.
constexpr int kRetryAfterSeconds = 1;

Observer& nobody() {
    static Observer observer;
    return observer;
}

Histogram seconds_histogram() {
    Histogram h;
    h.bounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1, 5, 30, 120, 600};
    return h;
}

Histogram counts_histogram() {
    Histogram h;
    h.bounds = {0, 1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128};
    return h;
}

}  // namespace

Core::Core(EngineConfig c, Backend& b, const Clock& k, Observer* o)
    : config(std::move(c)),
      backend(b),
      clock(k),
      observer(o != nullptr ? *o : nobody()),
      shared(std::make_shared<Shared>()),
      store_(config.policy.budget_bytes, config.park_memory),
      prompt_cache_(config.cache_ram_bytes, config.park_memory) {
    const BackendCaps& caps = backend.caps();
    KVALET_ASSERT(caps.n_slots > 0 && caps.pool > Cells{0} && caps.n_batch > Tokens{0},
                  "the backend has no room");
    config.n_slots = caps.n_slots;
    config.unified = caps.unified;
    config.policy.prefill_chunk = std::clamp(config.policy.prefill_chunk, Tokens{1}, caps.n_batch);
    slots_.resize(static_cast<std::size_t>(caps.n_slots));
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        slots_[i].id = SlotId{static_cast<std::int32_t>(i)};
    }
    histograms_ = {seconds_histogram(), seconds_histogram(), seconds_histogram(), counts_histogram()};
    shared->n_free_slots = caps.n_slots;
    publish(true);
}

bool Core::step() {
    step_started_us_ = clock.now_us();
    moved_ = false;
    drain_inbox();
    observe();
    sched::plan_into(view_, config.policy, plan_);
    observer.on_plan(view_, plan_);
    std::string why;
    KVALET_ASSERT(sched::valid(view_, config.policy, plan_, &why), why.c_str());
    apply(plan_);
    decode();
    sample();
    keep_time();
    ++step_;
    publish(plan_.actions.empty() || moved_);
    answer_park_orders();  // after the snapshot, so that who asked finds what it is told
    return !plan_.actions.empty();
}

void Core::run() {
    while (!shared->stopping) {
        if (step()) {
            continue;
        }
        if (shared->draining && !anybody_alive()) {
            return;
        }
        shared->inbox.wait(time_to_sleep());
    }
    end_everything();
}

std::chrono::milliseconds Core::time_to_sleep() const {
    return kLongestSleep;
}

Cells Core::used() const {
    Cells sum{0};
    for (const Slot& slot : slots_) {
        sum += slot.cells;
    }
    return sum;
}

Tokens Core::n_ctx_slot() const {
    const Tokens n = backend.caps().n_ctx_slot;
    return config.slot_ctx_max > 0 ? std::min(n, Tokens{config.slot_ctx_max}) : n;
}

std::int32_t Core::effective_priority(const Sequence& s) const {
    return sched::effective_priority(s, config.policy.n_starved);
}

Sequence& Core::alive(TaskId task) {
    const auto i = sequences_.find(task);
    KVALET_ASSERT(i != sequences_.end(), "the plan names a task that does not live");
    return *i->second;
}

Engine::Engine(EngineConfig config, Backend& backend, const Clock& clock, Observer* observer)
    : impl_(new Impl{Core(std::move(config), backend, clock, observer)}) {}

Engine::~Engine() = default;

Result<TaskId> Engine::submit(Request request) {
    Shared& shared = *impl_->core.shared;
    const std::int64_t n_prompt = static_cast<std::int64_t>(request.prompt.size());
    const std::int64_t n_ctx = impl_->core.n_ctx_slot().value();
    if (shared.draining || shared.stopping) {
        return make_error(ErrorKind::unavailable, "The server is shutting down");
    }
    const std::size_t n_children = request.child_generations.size();
    if (n_children != request.child_outboxes.size() ||
        static_cast<std::int64_t>(n_children) >= impl_->core.config.n_slots) {
        return make_error(ErrorKind::invalid_request, "Field 'n': must be between 1 and " +
                                                          std::to_string(impl_->core.config.n_slots) +
                                                          ", the number of slots");
    }
    if (request.prompt.empty() || !request.generation || !request.outbox) {
        return make_error(ErrorKind::invalid_request, "Field 'prompt': must hold at least one token");
    }
    if (n_prompt >= n_ctx) {
        Error error = make_error(ErrorKind::exceed_context_size,
                                 "request (" + std::to_string(n_prompt) +
                                     " tokens) exceeds the available context size (" + std::to_string(n_ctx) +
                                     " tokens), try increasing it");
        error.n_prompt_tokens = n_prompt;
        error.n_ctx = n_ctx;
        return error;
    }
    // What finds a free slot does not wait: a queue of 0 still serves one request for each slot.
    const std::int64_t most = impl_->core.config.queue_max + shared.n_free_slots.load();
    if (shared.n_waiting.fetch_add(1) >= most) {
        --shared.n_waiting;
        Error error = make_error(ErrorKind::too_many_requests,
                                 "The queue is full (--queue-max " +
                                     std::to_string(impl_->core.config.queue_max) + "), try again later");
        error.retry_after_s = kRetryAfterSeconds;
        return error;
    }
    const TaskId task{shared.next_task.fetch_add(1)};
    request.outbox->on_room([keep = impl_->core.shared] { keep->inbox.poke(); });
    shared.inbox.push(Submit{task, std::move(request)});
    return task;
}

void Engine::cancel(TaskId task) {
    impl_->core.shared->inbox.push(Cancel{task});
}

void Engine::save_slot(SlotId slot, std::string path, Callback<SlotFileReply> done) {
    impl_->core.shared->inbox.push(
        SlotFileOrder{SlotFileAction::save, slot, std::move(path), std::move(done)});
}

void Engine::restore_slot(SlotId slot, std::string path, Callback<SlotFileReply> done) {
    impl_->core.shared->inbox.push(
        SlotFileOrder{SlotFileAction::restore, slot, std::move(path), std::move(done)});
}

void Engine::erase_slot(SlotId slot, Callback<SlotFileReply> done) {
    impl_->core.shared->inbox.push(SlotFileOrder{SlotFileAction::erase, slot, {}, std::move(done)});
}

void Engine::park_slot(SlotId slot, Callback<ParkReply> done) {
    impl_->core.shared->inbox.push(ParkOrder{ParkAction::park, slot, {}, 0, std::move(done)});
}

void Engine::unpark_slot(SlotId slot, Callback<ParkReply> done) {
    impl_->core.shared->inbox.push(ParkOrder{ParkAction::unpark, slot, {}, 0, std::move(done)});
}

void Engine::park_request(std::string public_id, Callback<ParkReply> done) {
    impl_->core.shared->inbox.push(
        ParkOrder{ParkAction::park, kNoSlot, std::move(public_id), 0, std::move(done)});
}

void Engine::unpark_request(std::string public_id, Callback<ParkReply> done) {
    impl_->core.shared->inbox.push(
        ParkOrder{ParkAction::unpark, kNoSlot, std::move(public_id), 0, std::move(done)});
}

void Engine::set_priority(std::string public_id, std::int32_t priority, Callback<ParkReply> done) {
    impl_->core.shared->inbox.push(
        ParkOrder{ParkAction::priority, kNoSlot, std::move(public_id), priority, std::move(done)});
}

std::shared_ptr<const Snapshot> Engine::snapshot() const {
    const std::lock_guard lock(impl_->core.shared->snapshot_mutex);
    return impl_->core.shared->snapshot;
}

void Engine::drain() {
    impl_->core.shared->draining = true;
    impl_->core.shared->inbox.poke();
}

void Engine::stop() {
    impl_->core.shared->draining = true;
    impl_->core.shared->stopping = true;
    impl_->core.shared->inbox.poke();
}

void Engine::poke() {
    impl_->core.shared->inbox.poke();
}

void Engine::run() {
    impl_->core.run();
}

bool Engine::step() {
    return impl_->core.step();
}

}  // namespace kvalet::engine
