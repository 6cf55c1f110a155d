// A view of the world built in one line for each sequence, and plans as text, so that a test reads like a
// table.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "sched/plan.h"

namespace kvalet::test {

/// "park 2 swap kv_full, evict 3, feed 1 1". Every action in the order of the plan.
std::string text_of(const sched::Plan& plan);
/// Only the actions whose text begins with one of the words: text_of(plan, "park resume").
std::string text_of(const sched::Plan& plan, const std::string& words);

class Scene {
  public:
    using Change = std::function<void(sched::Resident&)>;

    /// Bytes of a snapshot: as many for each computed token.
    static constexpr std::int64_t kBytesPerToken = 1024;

    explicit Scene(const char* preset = "swap", std::int64_t pool = 1000);

    // Residents take the slots 0, 1, 2 … in the order in which they are named.
    /// Has `length` tokens and all but the last computed.
    Scene& decoding(std::uint64_t task, std::int64_t length, const Change& change = {});
    Scene& prefilling(std::uint64_t task, std::int64_t n_prompt, std::int64_t computed,
                      const Change& change = {});
    /// Has `length` tokens, half of them prompt, and computes those below length - 1 once more.
    Scene& replaying(std::uint64_t task, std::int64_t length, std::int64_t computed,
                     const Change& change = {});
    /// Parked after those named before; its slot is the next one.
    Scene& parked(std::uint64_t task, std::int64_t length, sched::ParkMode mode = sched::ParkMode::swap,
                  const std::function<void(sched::Parked&)>& change = {});
    /// Waits for the first idle slot that nobody before it waits for, or for none.
    Scene& waiting(std::uint64_t task, std::int64_t n_prompt,
                   const std::function<void(sched::Waiting&)>& change = {});
    Scene& idle(std::int64_t cached = 0, std::uint64_t last_used = 0);

    /// Plans, and asserts that the plan is valid.
    [[nodiscard]] sched::Plan plan() const;
    [[nodiscard]] std::string text() const { return text_of(plan()); }
    /// Only the parks.
    [[nodiscard]] std::string parks() const { return text_of(plan(), "park"); }

    sched::View view;
    sched::Policy policy;

  private:
    Scene& add(sched::Resident r, const Change& change);
    SlotId next_slot() { return SlotId{n_slots_++}; }
    std::int32_t n_slots_ = 0;
};

}  // namespace kvalet::test
