// What a simulation is told.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/clock.h"
#include "sim/workload.h"

namespace kvalet::sim {

/// What the machine is like. The defaults are about those of two CPU cores with a model of 135M parameters.
struct Machine {
    std::int64_t pool = 512;
    std::int32_t n_slots = 8;
    std::int64_t n_batch = 256;
    std::int64_t n_ubatch = 128;
    std::int64_t bytes_per_token = 23'040;  // of KV cache
    Micros decode_us = 2'850;               // one decode
    Micros decode_row_us = 5'400;           // and each sequence in it that makes one token
    std::int64_t prompt_tokens_per_s = 500;
    std::int64_t copy_mib_per_s = 1'280;
    Micros copy_us = 100;  // each park and restore, before the first byte
};

/// Breaks an invariant on purpose, to show that it is noticed. For the tests.
enum class Fault : std::uint8_t {
    none,
    wrong_token,   // the backend gives one row of logits for another
    lost_token,    // a client does not get a token
    double_token,  // a client gets a token twice
    kept_cells,    // cells are not given back
    lost_end,      // a client is not told that its request ended
    failed_check,  // an assertion of the program itself fails
};

struct Options {
    WorkloadOptions workload;
    Machine machine;
    std::vector<std::string> presets;                         // empty: all
    std::vector<std::int64_t> budgets_mib = {8192, 4, 1, 0};  // for the presets that have one; -1: no limit
    std::string scenario;                                     // path; empty: the workload from the seed
    std::int64_t cache_ram_mib = 0;  // for prompt caches of idle slots; 0: off
    std::int64_t preempt_every = 0;
    std::int64_t prefill_chunk = 0;  // 0: the preset's
    int threads = 0;                 // runs side by side; 0: one for each core
    Fault fault = Fault::none;
    std::uint64_t fault_at = 1;  // the nth time that it can happen
};

}  // namespace kvalet::sim
