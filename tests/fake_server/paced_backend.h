// A backend that takes its time: passes everything on and sleeps, so that a server on the fake backend can be
// looked at while it works.
#pragma once

#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "engine/backend.h"

namespace kvalet::test {

class PacedBackend final : public engine::Backend {
  public:
    /// What each decode takes, and each of its tokens.
    PacedBackend(std::unique_ptr<engine::Backend> backend, std::chrono::microseconds decode,
                 std::chrono::microseconds token)
        : backend_(std::move(backend)), decode_(decode), token_(token) {}

    [[nodiscard]] const engine::BackendCaps& caps() const override { return backend_->caps(); }
    engine::DecodeStatus decode(std::span<const engine::BatchEntry> batch) override {
        std::this_thread::sleep_for(decode_ + token_ * batch.size());
        return backend_->decode(batch);
    }
    [[nodiscard]] std::span<const float> logits(std::size_t index) override {
        return backend_->logits(index);
    }
    Tokens truncate(SlotId slot, Tokens n) override { return backend_->truncate(slot, n); }
    void clear(SlotId slot) override { backend_->clear(slot); }
    void share(SlotId from, SlotId to, Tokens n) override { backend_->share(from, to, n); }
    [[nodiscard]] Bytes snapshot_size(SlotId slot) override { return backend_->snapshot_size(slot); }
    bool save(SlotId slot, std::span<std::byte> into) override { return backend_->save(slot, into); }
    bool load(SlotId slot, std::span<const std::byte> from) override { return backend_->load(slot, from); }

  private:
    std::unique_ptr<engine::Backend> backend_;
    std::chrono::microseconds decode_;
    std::chrono::microseconds token_;
};

}  // namespace kvalet::test
