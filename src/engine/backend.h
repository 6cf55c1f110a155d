// What the engine needs of a model: a memory of KV cells and a decode. A port: llama_backend.cpp is the real
// one, fake_backend.h the one for tests and the simulator.
//
// Thread: the engine thread alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/ids.h"

namespace kvalet::engine {

struct BackendCaps {
    std::int32_t n_slots = 1;
    bool unified = true;
    Cells pool;         // cells of all slots together
    Tokens n_ctx_slot;  // most tokens of one sequence
    Tokens n_batch;     // most tokens of one decode
    Tokens n_ubatch;
    bool can_replay = true;  // a dropped sequence can be computed anew from its tokens
    /// Bytes of a snapshot of n tokens are about fixed + n * per_token: what the planner counts with. The
    /// exact size is asked for when a snapshot is taken.
    Bytes snapshot_fixed;
    Bytes snapshot_per_token;
};

struct BatchEntry {
    Token token = 0;
    std::int32_t pos = 0;
    SlotId slot;
    bool output = false;  // logits are wanted for it
};

enum class DecodeStatus : std::uint8_t {
    ok,
    no_room,        // the memory is untouched; the same batch may be tried again
    invalid_batch,  // nothing was computed
    failed,         // parts may have been computed: the sequences of the batch are to be cleared
};

class Backend {
  public:
    virtual ~Backend() = default;
    [[nodiscard]] virtual const BackendCaps& caps() const = 0;

    /// Computes the entries. At most caps().n_batch of them.
    virtual DecodeStatus decode(std::span<const BatchEntry> batch) = 0;
    /// The row of entry `index` of the last decode, which asked for output. Valid until the next decode.
    [[nodiscard]] virtual std::span<const float> logits(std::size_t index) = 0;

    /// Keeps the first `n` tokens of the slot's sequence at most and returns how many it could keep: a memory
    /// that cannot be rewound keeps none.
    virtual Tokens truncate(SlotId slot, Tokens n) = 0;
    virtual void clear(SlotId slot) = 0;
    /// All n tokens of `from` become the content of the empty slot `to` as well. In a unified pool the cells
    /// are shared.
    virtual void share(SlotId from, SlotId to, Tokens n) = 0;

    /// Bytes of a snapshot of the slot's sequence, exactly.
    [[nodiscard]] virtual Bytes snapshot_size(SlotId slot) = 0;
    /// Writes the snapshot; false when it could not be written whole.
    virtual bool save(SlotId slot, std::span<std::byte> into) = 0;
    /// Restores a snapshot into the empty slot. False when it did not work; the slot is then empty.
    virtual bool load(SlotId slot, std::span<const std::byte> from) = 0;
};

}  // namespace kvalet::engine
