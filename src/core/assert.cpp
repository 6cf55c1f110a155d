#include "core/assert.h"

#include <cstdio>
#include <cstdlib>

namespace kvalet {

void assertion_failed(const char* expression, const char* file, int line, const char* why) {
    std::fprintf(stderr, "kvalet: assertion failed: %s (%s) at %s:%d\n", expression, why, file, line);
    std::fflush(stderr);
    std::abort();
}

}  // namespace kvalet
