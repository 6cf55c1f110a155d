// When the next sign of life of a silent reply is due.
#pragma once

#include <chrono>

namespace kvalet::api {

/// A fixed grid (P8.3): lateness does not add up, and what was missed while the client did not read is not
/// made up for.
inline void move_past(std::chrono::steady_clock::time_point& deadline,
                      std::chrono::steady_clock::time_point now, std::chrono::milliseconds interval) {
    while (deadline <= now) {
        deadline += interval;
    }
}

}  // namespace kvalet::api
