// Assertions that stay on in release builds: a wrong ledger is worse than a stopped server.
#pragma once

namespace kvalet {

/// Prints what was expected and where, then aborts. Any thread.
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line, const char* why);

}  // namespace kvalet

/// What must hold. `why` is one sentence for the person who reads the crash.
#define KVALET_ASSERT(expression, why)                                        \
    do {                                                                      \
        if (!(expression)) {                                                  \
            ::kvalet::assertion_failed(#expression, __FILE__, __LINE__, why); \
        }                                                                     \
    } while (false)
