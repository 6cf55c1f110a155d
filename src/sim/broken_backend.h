// A backend that does one thing wrong, once: for the tests that show that the checker notices.
#pragma once

#include "engine/fake_backend.h"
#include "sim/options.h"

namespace kvalet::sim {

class BrokenBackend final : public engine::Backend {
  public:
    BrokenBackend(engine::FakeBackend& real, Fault fault, std::uint64_t at)
        : real_(real), fault_(fault), at_(at) {}

    [[nodiscard]] const engine::BackendCaps& caps() const override { return real_.caps(); }
    engine::DecodeStatus decode(std::span<const engine::BatchEntry> batch) override {
        return real_.decode(batch);
    }
    [[nodiscard]] std::span<const float> logits(std::size_t index) override;
    Tokens truncate(SlotId slot, Tokens n) override { return real_.truncate(slot, n); }
    void clear(SlotId slot) override;
    void share(SlotId from, SlotId to, Tokens n) override { real_.share(from, to, n); }
    [[nodiscard]] Bytes snapshot_size(SlotId slot) override { return real_.snapshot_size(slot); }
    bool save(SlotId slot, std::span<std::byte> into) override { return real_.save(slot, into); }
    bool load(SlotId slot, std::span<const std::byte> from) override { return real_.load(slot, from); }

  private:
    [[nodiscard]] bool now(Fault fault) { return fault == fault_ && ++n_ == at_; }

    engine::FakeBackend& real_;
    Fault fault_;
    std::uint64_t at_;
    std::uint64_t n_ = 0;
    std::vector<float> row_;
};

}  // namespace kvalet::sim
