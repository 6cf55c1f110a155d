// Who wants to know what the engine did: the log of the server (P6.4), the checker of the simulator, tests.
//
// Thread: called on the engine thread, in the order of events; must not block and must not call the engine.
#pragma once

#include <cstdint>
#include <string>

#include "core/ids.h"
#include "sched/plan.h"
#include "sched/reason.h"

namespace kvalet::engine {

/// P6.4: one line of log for each.
struct ParkRecord {
    TaskId task;
    SlotId slot;
    sched::ParkReason reason = sched::ParkReason::kv_full;
    sched::ParkMode mode = sched::ParkMode::swap;
    Cells cells;
    Bytes bytes;
    double ms = 0;
    std::int32_t parks = 0;  // this one included
    Cells free_before, free_after;
};

struct ResumeRecord {
    TaskId task;
    SlotId slot;
    sched::ParkMode mode = sched::ParkMode::swap;  // how it comes back: drop after a failed restore
    Cells cells;                                   // that it holds again at once
    Bytes bytes;
    double ms = 0;
    double parked_ms = 0;
    std::int32_t parks = 0;
    Cells free_before, free_after;
};

class Observer {
  public:
    virtual ~Observer() = default;
    virtual void on_park(const ParkRecord&) {}
    virtual void on_resume(const ResumeRecord&) {}
    /// A plan is about to be applied.
    virtual void on_plan(const sched::View&, const sched::Plan&) {}
    /// P1.7: the backend had no room although the ledger had; `used` is the ledger's word.
    virtual void on_kv_full(Cells /*used*/, Cells /*pool*/) {}
    /// Something that an operator should read: one sentence.
    virtual void on_warning(const std::string&) {}
};

}  // namespace kvalet::engine
