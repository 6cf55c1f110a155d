// What came out of one run, and the table of all.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "core/clock.h"
#include "sim/spread.h"

namespace kvalet::sim {

struct Report {
    std::string preset;
    std::int64_t budget_mib = 0;
    std::int64_t n_completed = 0;
    std::int64_t n_left = 0;  // clients that went away
    std::int64_t n_swapped = 0, n_dropped = 0;
    std::int64_t n_recomputed = 0;  // tokens
    std::int64_t n_tokens = 0;      // that clients got
    Micros time_us = 0;             // virtual
    std::int64_t parked_bytes_max = 0;
    std::uint64_t n_steps = 0;
    Spread first_us;                  // from asking to the first token
    Spread gap_us;                    // from token to token
    Spread parked_us;                 // from park to resume
    std::uint64_t hash = 0;           // of all that happened
    std::vector<std::string> events;  // of a scenario: "park a swap kv_full"
    std::string fault;                // the first, with its place; empty: none
};

void print_table(std::ostream& out, const std::vector<Report>& reports);

}  // namespace kvalet::sim
