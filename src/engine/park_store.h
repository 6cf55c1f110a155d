// The store of parked bytes (P3.5): a hard limit, counted in bytes really held, with its high-water mark.
//
// Thread: the engine thread alone.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "core/ids.h"

namespace kvalet::engine {

class ParkStore {
  public:
    /// A snapshot's memory. Gives its bytes back to the store when it goes; must not outlive it.
    class Buffer {
      public:
        Buffer() = default;
        Buffer(Buffer&& other) noexcept;
        Buffer& operator=(Buffer&& other) noexcept;
        ~Buffer();
        [[nodiscard]] std::span<std::byte> bytes() { return {data_.get(), size_}; }
        [[nodiscard]] std::span<const std::byte> bytes() const { return {data_.get(), size_}; }
        [[nodiscard]] Bytes size() const { return Bytes{static_cast<std::int64_t>(size_)}; }
        void release();

      private:
        friend class ParkStore;
        ParkStore* store_ = nullptr;
        std::unique_ptr<std::byte[]> data_;
        std::size_t size_ = 0;
    };

    /// Returns null when it has no memory. Tests hand in one that refuses.
    using Allocate = std::function<std::unique_ptr<std::byte[]>(std::size_t)>;

    /// budget_bytes: sched::kUnlimited for no limit.
    explicit ParkStore(std::int64_t budget_bytes, Allocate allocate = {});

    /// Whether the budget holds so many bytes together.
    [[nodiscard]] bool allows(Bytes total) const;
    /// Nothing when it is over the budget or memory was refused.
    [[nodiscard]] std::optional<Buffer> take(Bytes size);
    [[nodiscard]] Bytes held() const { return held_; }
    [[nodiscard]] Bytes high_water() const { return high_water_; }

  private:
    std::int64_t budget_bytes_;
    Allocate allocate_;
    Bytes held_;
    Bytes high_water_;
};

}  // namespace kvalet::engine
