#include "engine/snapshot.h"

#include <algorithm>

namespace kvalet::engine {

void Histogram::add(double value) {
    const auto bucket = std::lower_bound(bounds.begin(), bounds.end(), value) - bounds.begin();
    ++counts[static_cast<std::size_t>(bucket)];
    sum += value;
    ++n;
}

}  // namespace kvalet::engine
