// The inside of Engine: what the one engine thread owns. Private to this room.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/backend.h"
#include "engine/engine.h"
#include "engine/inbox.h"
#include "engine/observer.h"
#include "engine/park_store.h"
#include "engine/prompt_cache.h"
#include "engine/sequence.h"
#include "sched/plan.h"

namespace kvalet::engine {

/// A place for one sequence. Without one its tokens are only a prompt cache.
struct Slot {
    SlotId id;
    Sequence* sequence = nullptr;
    std::vector<Token> cache;  // tokens whose KV it holds, while idle
    Cells cells;               // the ledger's entry: cells held now
    std::uint64_t last_used = 0;
    std::optional<SequenceInfo> last;  // what /slots shows of the one that ended here
};

/// The part of a step's batch that one sequence has.
struct BatchPart {
    Sequence* sequence = nullptr;
    Tokens n;
    std::size_t first = 0;  // index of its first entry
};

/// What other threads touch: everything else belongs to the engine thread.
struct Shared {
    Inbox inbox;
    std::atomic<std::uint64_t> next_task{1};
    std::atomic<std::int64_t> n_waiting{0};
    std::atomic<std::int64_t> n_free_slots{0};
    std::atomic<bool> draining{false};
    std::atomic<bool> stopping{false};
    mutable std::mutex snapshot_mutex;
    std::shared_ptr<const Snapshot> snapshot;
};

class Core {
  public:
    Core(EngineConfig config, Backend& backend, const Clock& clock, Observer* observer);

    // engine.cpp: the step and the loop
    bool step();
    void run();

    // orders.cpp: what came through the inbox, and what time brings
    void drain_inbox();
    void enter_queue(Sequence& s);
    void sort_queue();
    void cancel(TaskId task);
    void handle(SlotFileOrder& order);
    void handle(ParkOrder& order);
    void ask_to_park(ParkOrder& order, std::vector<Sequence*> named);
    void try_slot_files();
    void answer_park_orders();
    void end_park_times();
    void end_everything();

    // observe.cpp: the view of this step
    void observe();
    void observe_waiting();

    // apply.cpp: what the plan decided
    void apply(const sched::Plan& plan);
    void carry_out(const sched::EvictIdle& a);
    void carry_out(const sched::Park& a);
    void carry_out(const sched::YieldSlot& a);
    void carry_out(const sched::Resume& a);
    void carry_out(const sched::Admit& a);
    void carry_out(const sched::Attach& a);
    void carry_out(const sched::Finish& a);
    void carry_out(const sched::FailAll& a);
    void carry_out(const sched::Feed& a);
    void promote_those_passed_over(const Sequence& let_in);
    void empty_slot(Slot& slot);

    // reuse.cpp: prompt caches of idle slots
    bool copy_aside(const Slot& slot);
    void put_idle_aside(const sched::Plan& plan);
    [[nodiscard]] Cells claimed_by(const sched::Plan& plan);
    [[nodiscard]] Tokens reuse_prompt(Slot& slot, const Sequence& s, Tokens planned);

    // family.cpp: n > 1
    void take_in(Submit submit);
    void share_prompt(Sequence& parent, const std::vector<Sequence*>& children);
    void pass_on_prompt(Sequence& owner);
    [[nodiscard]] Sequence* heir_of(const Sequence& owner);
    void orphan(Sequence& parent, const Error& why);

    void leave_slot(Sequence& s, bool keep_cache);
    void finish(Sequence& s, text::StopType stop, std::string word, bool truncated);
    void fail(Sequence& s, Error error);
    void bury(Sequence& s);

    // decode.cpp: the batch of this step
    void build_batch();
    void decode();
    bool make_way();  // P1.7; false when nothing can be done
    void account(const BatchPart& part);
    void sample();
    [[nodiscard]] text::Piece choose(Sequence& s, std::span<const float> logits);
    void take_token(Sequence& s, text::Piece piece);
    void keep_time();
    void keep_time(Sequence& s, Micros now_us);

    // publish.cpp
    void publish(bool always);
    [[nodiscard]] SequenceInfo info_of(const Sequence& s) const;

    [[nodiscard]] Slot& slot_at(SlotId id) { return slots_[static_cast<std::size_t>(id.value())]; }
    [[nodiscard]] Sequence& alive(TaskId task);
    [[nodiscard]] std::vector<Sequence*> sequences_of(const std::string& public_id);
    [[nodiscard]] std::optional<Error> why_not_parkable(const Sequence& s) const;
    [[nodiscard]] Cells used() const;
    [[nodiscard]] Cells free_cells() const { return backend.caps().pool - used(); }
    [[nodiscard]] Tokens n_ctx_slot() const;
    [[nodiscard]] std::int32_t effective_priority(const Sequence& s) const;
    [[nodiscard]] bool anybody_alive() const { return !sequences_.empty(); }
    [[nodiscard]] std::chrono::milliseconds time_to_sleep() const;

    EngineConfig config;
    Backend& backend;
    const Clock& clock;
    Observer& observer;
    std::shared_ptr<Shared> shared;

  private:
    std::map<TaskId, std::unique_ptr<Sequence>> sequences_;  // all that live
    std::vector<Sequence*> waiting_;                         // by effective priority, then task
    std::vector<Sequence*> parked_;                          // by parked_at
    std::vector<Slot> slots_;
    std::vector<Command> commands_;
    std::vector<SlotFileOrder> slot_files_;  // wait for their slot to be idle
    std::vector<ParkOrder> park_orders_;     // wait for the next plan
    ParkStore store_;
    PromptCache prompt_cache_;
    sched::View view_;
    sched::Plan plan_;
    std::vector<BatchPart> parts_;
    std::vector<BatchEntry> batch_;
    std::uint64_t step_ = 0;
    std::uint64_t uses_ = 0;      // order of slot use
    std::uint64_t parkings_ = 0;  // order of parking
    Counters counters_;
    Histograms histograms_;
    Micros step_started_us_ = 0;
    Micros published_us_ = 0;
    int refusals_ = 0;    // P1.7, in a row
    bool moved_ = false;  // somebody was parked, resumed or let in during this step
};

struct Engine::Impl {
    Core core;
};

}  // namespace kvalet::engine
