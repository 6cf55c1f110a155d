// A world for plan() to act in, as small as can be: no clock, no backend, no tokens, only counts. It does to
// sequences what the engine does, so that plans can be followed from arrival to end, and asserts at each step
// that the plan is valid and that something moves.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sched/plan.h"

namespace kvalet::test {

struct Being {
    enum class State { waiting, resident, parked, ended };
    State state = State::waiting;
    std::int32_t priority = 0, parks = 0, passes = 0;
    std::int64_t n_prompt = 1, n_predict = 1;
    std::int64_t length = 0, computed = 0, replay_end = 0, run = 0;
    std::uint64_t parked_at = 0;
    SlotId slot = kNoSlot;
    bool swapped = false;
    bool cut = false;                 // ended by the plan's word
    std::int64_t came = 0, went = 0;  // steps
    std::int64_t parked_steps = 0, longest_park = 0, parked_since = 0;
};

class World {
  public:
    World(sched::Policy policy, std::int64_t pool, std::int32_t n_slots);

    std::uint64_t ask(std::int64_t n_prompt, std::int64_t n_predict, std::int32_t priority = 0);
    /// One step. False when there was nothing to do.
    bool step();

    [[nodiscard]] const Being& operator[](std::uint64_t task) const {
        return ended_.contains(task) ? ended_.at(task) : all_.at(task);
    }
    [[nodiscard]] std::int64_t steps() const { return steps_; }
    [[nodiscard]] std::size_t n_waiting() const;
    [[nodiscard]] const std::map<std::uint64_t, Being>& alive() const { return all_; }
    [[nodiscard]] const std::map<std::uint64_t, Being>& ended() const { return ended_; }
    /// The first thing that went wrong, or nothing.
    std::string wrong;

  private:
    void observe();
    void observe_waiting();
    void apply(const sched::EvictIdle&) {}
    void apply(const sched::Park& a);
    void apply(const sched::YieldSlot& a);
    void apply(const sched::Resume& a);
    void apply(const sched::Admit& a);
    void apply(const sched::Attach&) { wrong = "there are no families here"; }
    void apply(const sched::Finish& a);
    void apply(const sched::FailAll&) { wrong = "everybody fails"; }
    void apply(const sched::Feed& a);
    void end(std::uint64_t task);

    static constexpr std::int64_t kBytesPerToken = 100;
    sched::Policy policy_;
    std::int32_t n_slots_;
    std::map<std::uint64_t, Being> all_;  // that live
    std::map<std::uint64_t, Being> ended_;
    std::vector<std::uint64_t> holders_;  // by slot; 0: idle
    sched::View view_;
    sched::Plan plan_;
    std::uint64_t next_ = 1, parkings_ = 0;
    std::int64_t steps_ = 0;
};

}  // namespace kvalet::test
