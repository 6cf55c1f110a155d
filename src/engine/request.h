// What the edges hand to the engine: one generation to be made, and what may be asked of a running one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "engine/events.h"
#include "sched/reason.h"
#include "text/generation.h"

namespace kvalet::engine {

/// One generation. Made by a worker thread, owned by the engine from submit() on.
struct Request {
    std::string public_id;      // the `id` of the response and the X-Request-Id header
    std::vector<Token> prompt;  // at least one token
    std::unique_ptr<text::Generation> generation;
    std::shared_ptr<Outbox> outbox;
    SlotId slot = kNoSlot;      // kNoSlot: any; else wraps modulo the number of slots
    std::int32_t priority = 0;  // larger is more important (P0)
    bool cache_prompt = true;
    std::int64_t n_predict =
        -1;  // only shown by /slots: the generation itself knows when to stop; -1: no limit
    bool return_progress = false;
    bool stream = false;
    /// The request's parameters as JSON text, shown as `params` by /slots. The engine never looks inside.
    std::shared_ptr<const std::string> params_json;
    /// n > 1: how many more generations share this prompt. Their generations and outboxes, in order of their
    /// index.
    std::vector<std::unique_ptr<text::Generation>> child_generations;
    std::vector<std::shared_ptr<Outbox>> child_outboxes;
};

/// POST /slots/{id}?action=… (llama-server-api 1.3).
struct SlotFileReply {
    SlotId slot;
    Tokens n_tokens;  // n_saved, n_restored or n_erased
    Bytes n_bytes;    // n_written, n_read
    double ms = 0;
};

/// P7.2. What park, unpark and priority answer.
struct ParkReply {
    SlotId slot;
    TaskId task;
    std::string public_id;
    bool ever_parked = false;
    sched::ParkMode mode = sched::ParkMode::swap;
    Cells n_cells;  // that it holds or held when parked
    Bytes bytes;    // of host memory held for it
    bool is_preempted = false;
    std::int32_t priority = 0;
};

template <class T>
using Callback = std::function<void(Result<T>)>;  // engine thread: must be short and must not block

}  // namespace kvalet::engine
