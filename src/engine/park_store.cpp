#include "engine/park_store.h"

#include <algorithm>
#include <new>
#include <utility>

#include "core/assert.h"
#include "sched/policy.h"

namespace kvalet::engine {

ParkStore::Buffer::Buffer(Buffer&& other) noexcept
    : store_(std::exchange(other.store_, nullptr)),
      data_(std::move(other.data_)),
      size_(std::exchange(other.size_, 0)) {}

ParkStore::Buffer& ParkStore::Buffer::operator=(Buffer&& other) noexcept {
    if (this != &other) {
        release();
        store_ = std::exchange(other.store_, nullptr);
        data_ = std::move(other.data_);
        size_ = std::exchange(other.size_, 0);
    }
    return *this;
}

ParkStore::Buffer::~Buffer() {
    release();
}

void ParkStore::Buffer::release() {
    if (store_ != nullptr) {
        store_->held_ -= size();
        KVALET_ASSERT(store_->held_ >= Bytes{0}, "more parked bytes were returned than taken");
    }
    store_ = nullptr;
    data_.reset();
    size_ = 0;
}

ParkStore::ParkStore(std::int64_t budget_bytes, Allocate allocate)
    : budget_bytes_(budget_bytes), allocate_(std::move(allocate)) {
    if (!allocate_) {
        allocate_ = [](std::size_t n) {
            return std::unique_ptr<std::byte[]>(new (std::nothrow) std::byte[n]);
        };
    }
}

bool ParkStore::allows(Bytes total) const {
    return budget_bytes_ == sched::kUnlimited || total.value() <= budget_bytes_;
}

std::optional<ParkStore::Buffer> ParkStore::take(Bytes size) {
    if (!allows(held_ + size) || size <= Bytes{0}) {
        return std::nullopt;
    }
    Buffer buffer;
    buffer.data_ = allocate_(static_cast<std::size_t>(size.value()));
    if (!buffer.data_) {
        return std::nullopt;
    }
    buffer.size_ = static_cast<std::size_t>(size.value());
    buffer.store_ = this;
    held_ += size;
    high_water_ = std::max(high_water_, held_);
    return buffer;
}

}  // namespace kvalet::engine
