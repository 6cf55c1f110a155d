// A backend without a model: a KV pool that keeps the tokens themselves, so that every decode can check that
// the right ones are there. The next token is a function of all tokens before it: a byte lost, doubled or
// mixed up by a park shows at once. For tests, the simulator and the sanitizers. Faults are injected by kind
// and number.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/clock.h"
#include "engine/backend.h"

namespace kvalet::engine {

/// share and clear are not among them: libllama has no way to say that they failed.
enum class FakeCall : std::uint8_t { decode_room, decode_compute, snapshot_size, save, load, truncate };
constexpr std::size_t kFakeCalls = 6;

/// What things take in virtual time. All zero: nothing moves the clock.
struct FakeCosts {
    Micros decode_us = 0;        // one decode, whatever its width
    Micros decode_row_us = 0;    // each token of a sequence that feeds one token
    Micros prompt_token_us = 0;  // each token of a sequence that feeds more
    Micros copy_fixed_us = 0;    // a save or load
    Micros copy_mib_us = 0;      // each MiB of it
};

struct FakeOptions {
    std::int32_t n_slots = 4;
    bool unified = true;
    std::int64_t pool = 512;
    std::int64_t n_batch = 256;
    std::int64_t n_ubatch = 64;
    std::int32_t n_vocab = 260;
    std::int64_t bytes_per_token = 64;  // of a snapshot; at least 4
    bool can_replay = true;
    bool can_rewind = true;  // false: truncate keeps all or nothing, like a recurrent memory
    FakeCosts costs;
};

class FakeBackend final : public Backend {
  public:
    /// `clock` is moved by the costs; may be null.
    explicit FakeBackend(FakeOptions options, ManualClock* clock = nullptr);

    [[nodiscard]] const BackendCaps& caps() const override { return caps_; }
    DecodeStatus decode(std::span<const BatchEntry> batch) override;
    [[nodiscard]] std::span<const float> logits(std::size_t index) override;
    Tokens truncate(SlotId slot, Tokens n) override;
    void clear(SlotId slot) override;
    void share(SlotId from, SlotId to, Tokens n) override;
    [[nodiscard]] Bytes snapshot_size(SlotId slot) override;
    bool save(SlotId slot, std::span<std::byte> into) override;
    bool load(SlotId slot, std::span<const std::byte> from) override;

    // ---- for tests
    // --------------------------------------------------------------------------------------------------
    /// The nth call of this kind from now (1 is the next) fails; 0 lets all succeed.
    void fail_nth(FakeCall call, std::uint64_t nth);
    /// This one and all after it.
    void fail_from(FakeCall call, std::uint64_t nth);
    [[nodiscard]] std::uint64_t calls(FakeCall call) const { return calls_[static_cast<std::size_t>(call)]; }
    [[nodiscard]] std::int64_t cells_used() const;
    [[nodiscard]] const std::vector<Token>& content(SlotId slot) const;
    [[nodiscard]] std::uint64_t n_shares() const { return n_shares_; }
    [[nodiscard]] std::uint64_t n_decodes() const { return n_decodes_; }

    /// The token that follows `tokens` when the most likely one is taken.
    [[nodiscard]] Token next_token(std::span<const Token> tokens) const;
    /// The same, to follow a text token by token: what the tokens amount to, with one more, and what follows.
    [[nodiscard]] static std::uint64_t state_of(std::span<const Token> tokens);
    [[nodiscard]] static std::uint64_t extended(std::uint64_t state, Token token);
    [[nodiscard]] Token next_of(std::uint64_t state) const;
    [[nodiscard]] std::int32_t n_vocab() const { return options_.n_vocab; }

  private:
    struct Memory {
        std::vector<Token> tokens;
        std::vector<std::uint64_t> hashes;  // of each prefix
        std::uint64_t group = 0;            // sequences whose first `shared` cells are the same ones; 0: none
        std::size_t shared = 0;
    };
    [[nodiscard]] Memory& at(SlotId slot) { return memories_[static_cast<std::size_t>(slot.value())]; }
    [[nodiscard]] const Memory& at(SlotId slot) const {
        return memories_[static_cast<std::size_t>(slot.value())];
    }
    void append(Memory& m, Token token) const;
    [[nodiscard]] bool fails(FakeCall call);
    [[nodiscard]] std::int64_t bytes_of(const Memory& m) const;
    [[nodiscard]] bool room_for(std::span<const BatchEntry> batch) const;
    void charge_decode(std::span<const BatchEntry> batch);
    void charge_copy(std::size_t bytes);

    FakeOptions options_;
    BackendCaps caps_;
    ManualClock* clock_;
    std::vector<Memory> memories_;
    std::vector<std::uint64_t> rows_;  // the hash behind each output row of the last decode
    std::vector<std::size_t> row_of_;  // entry -> row
    std::vector<float> row_;
    std::array<std::uint64_t, kFakeCalls> calls_{};
    std::array<std::uint64_t, kFakeCalls> fail_at_{};
    std::array<bool, kFakeCalls> fails_on_{};
    std::uint64_t n_decodes_ = 0;
    std::uint64_t n_shares_ = 0;
    std::uint64_t n_groups_ = 0;
};

}  // namespace kvalet::engine
