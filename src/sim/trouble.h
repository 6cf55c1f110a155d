// Where a run is, so that whoever finds something wrong, an assertion of the engine too, can say the seed and
// the step that show it again.
#pragma once

#include <cstdint>
#include <string>

namespace kvalet::sim {

struct Place {
    std::uint64_t seed = 0;
    const char* preset = "";
    std::int64_t budget_mib = 0;
    std::uint64_t step = 0;
};

[[nodiscard]] std::string text_of(const Place& place);

/// While it lives, an assertion that fails on this thread prints the place and ends the process with exit
/// code 1 instead of aborting. `place` must outlive it.
class Watch {
  public:
    explicit Watch(const Place* place);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
};

}  // namespace kvalet::sim
