// Any view that the engine could show, drawn from a sequence of choices. Choices come from a seed (many views
// in little time), or from a list that rapidcheck shrinks: fewer and smaller choices are a simpler view.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sched/policy.h"
#include "sched/view.h"

namespace kvalet::test {

class Choices {
  public:
    explicit Choices(std::uint64_t seed) : state_(seed) {}
    /// When the list is at its end, every choice is 0.
    explicit Choices(std::vector<std::uint32_t> list) : list_(std::move(list)), listed_(true) {}

    /// 0 .. n-1.
    std::int64_t below(std::int64_t n);
    std::int64_t between(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
    /// True once in n times.
    bool one_in(std::int64_t n) { return below(n) == n - 1; }

  private:
    std::uint64_t next();
    std::uint64_t state_ = 0;
    std::vector<std::uint32_t> list_;
    std::size_t at_ = 0;
    bool listed_ = false;
};

struct Situation {
    sched::View view;
    sched::Policy policy;
    std::string preset;
};

/// A preset with its own budget or another one, sometimes with preemption off, and a view to go with it: 1 to
/// 8 slots, a pool that is often nearly full, sequences in every phase.
Situation random_situation(Choices& choices);

/// For messages: everything that decides.
std::string text_of(const Situation& s);

}  // namespace kvalet::test
