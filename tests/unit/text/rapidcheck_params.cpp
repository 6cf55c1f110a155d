// A property here costs microseconds a case, so the hundred cases that are rapidcheck's default are few.
// RC_PARAMS from outside (say a seed to repeat) wins.
#include <cstdlib>

namespace {

[[maybe_unused]] const bool kAreParamsSet = setenv("RC_PARAMS", "max_success=2000", 0) == 0;

}  // namespace
