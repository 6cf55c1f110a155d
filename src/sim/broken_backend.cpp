#include "sim/broken_backend.h"

#include <algorithm>

#include "core/assert.h"

namespace kvalet::sim {

std::span<const float> BrokenBackend::logits(std::size_t index) {
    const std::span<const float> good = real_.logits(index);
    KVALET_ASSERT(!now(Fault::failed_check), "it was asked to fail");
    if (!now(Fault::wrong_token)) {
        return good;
    }
    row_.assign(good.begin(), good.end());
    std::rotate(row_.begin(), row_.begin() + 1, row_.end());
    return row_;
}

void BrokenBackend::clear(SlotId slot) {
    if (!real_.content(slot).empty() && now(Fault::kept_cells)) {
        return;
    }
    real_.clear(slot);
}

}  // namespace kvalet::sim
