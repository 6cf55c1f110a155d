// Counts every allocation of the process that it is linked into, so that a test can say "none". Such a test
// is a program of its own.
#pragma once

#include <cstddef>

namespace kvalet::test {

/// Calls of operator new since the start of the process, on all threads.
[[nodiscard]] std::size_t allocations();

}  // namespace kvalet::test
