// The engine: one thread that owns every sequence, slot and cell. Others reach it through the bounded inbox
// and see it through snapshots.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/clock.h"
#include "core/ids.h"
#include "core/result.h"
#include "engine/park_store.h"
#include "engine/request.h"
#include "engine/snapshot.h"
#include "sched/policy.h"

namespace kvalet::engine {

class Backend;
class Observer;

struct EngineConfig {
    std::int32_t n_slots = 4;
    bool unified = true;
    bool cache_prompt = true;
    std::int32_t queue_max = 1024;        // requests that may wait for a slot; more get 429
    float slot_prompt_similarity = 0.1F;  // llama-server-api 3.1; 0: off
    std::int64_t preempt_every = 0;       // LLAMA_SERVER_PREEMPT_EVERY (P1.4); 0: off
    std::int64_t park_ttl_s = 600;        // P7.3; 0: no limit
    std::int64_t slot_ctx_max = 0;        // caps the context of a slot (--kv-unified-per-slot); 0: none
    Micros publish_us = 5'000;  // readers of snapshots need nothing fresher while steps follow each other
    int sample_threads = 1;     // generations whose next() may run side by side
    std::int64_t cache_ram_bytes = 0;  // for prompt caches of idle slots (--cache-ram); 0: off, -1: no limit
    bool cache_idle_slots = true;      // they are put aside there whenever somebody begins to compute
    sched::Policy policy;
    ParkStore::Allocate park_memory;  // for parked bytes and prompt caches; empty: the heap
};

class Engine {
  public:
    /// Neither backend, clock nor observer is owned; all outlive the engine. The backend's memory is empty.
    Engine(EngineConfig config, Backend& backend, const Clock& clock, Observer* observer);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    // ---- any thread
    // -------------------------------------------------------------------------------------------------
    /// Takes the request, or says at once why not: too_many_requests (queue full, with Retry-After),
    /// unavailable (draining), exceed_context_size (prompt does not fit a slot), invalid_request.
    Result<TaskId> submit(Request request);
    /// The client is gone: its cells, bytes and slot are free before the next step (P8.5). Unknown ids are
    /// ignored.
    void cancel(TaskId task);

    void save_slot(SlotId slot, std::string path, Callback<SlotFileReply> done);
    void restore_slot(SlotId slot, std::string path, Callback<SlotFileReply> done);
    void erase_slot(SlotId slot, Callback<SlotFileReply> done);

    // P7.2, by slot or by the public id of a request.
    void park_slot(SlotId slot, Callback<ParkReply> done);
    void unpark_slot(SlotId slot, Callback<ParkReply> done);
    void park_request(std::string public_id, Callback<ParkReply> done);
    void unpark_request(std::string public_id, Callback<ParkReply> done);
    void set_priority(std::string public_id, std::int32_t priority, Callback<ParkReply> done);

    /// Never null.
    [[nodiscard]] std::shared_ptr<const Snapshot> snapshot() const;

    /// Refuse new work from now on; what runs, waits or is parked finishes. run() returns when all is done.
    void drain();
    /// End at once: every request that has not ended gets Failed{unavailable}. run() returns.
    void stop();
    /// Something outside changed (an outbox has room again): look again.
    void poke();

    // ---- engine thread
    // ----------------------------------------------------------------------------------------------
    /// Until drained or stopped. Sleeps while there is nothing to do.
    void run();
    /// One step; false when there was nothing to do. For tests and the simulator, instead of run().
    bool step();

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace kvalet::engine
