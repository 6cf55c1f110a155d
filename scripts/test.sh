#!/usr/bin/env bash
# test.sh all|asan|tsan: builds with tests, runs the unit tests (ctest), then the tests of the set-up and those
# from outside (pytest; tests/scripts and tests/e2e).
# The last line of it all is "N passed, N failed". Further arguments for pytest: ARGS="-k chat".
#   all    release; with CI=true (or KVALET_SANITIZE_CHECK=1) the short sanitizer run as well: the unit tests of the rooms
#          that decide, own memory or own sockets, under AddressSanitizer and UndefinedBehaviorSanitizer
#   asan   everything under those two
#   tsan   what does without libllama, under ThreadSanitizer (libllama's OpenMP threads are not instrumented)
# What needs libllama carries the ctest label "llama"; a test from outside on the fake backend the pytest mark "fake".
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/common.sh
source "$here/common.sh"

export ASAN_OPTIONS="abort_on_error=1:detect_stack_use_after_return=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}"
export TSAN_OPTIONS="halt_on_error=1:second_deadlock_stack=1${TSAN_OPTIONS:+:$TSAN_OPTIONS}"

# Where the reports of this run are collected for the count at the end.
results=$repo/build/test-results

path_of() { "$here/deps.sh" path "$1"; }

# run_unit PRESET CTEST-ARGUMENTS...
run_unit() {
  local preset=$1 build_dir=$repo/build
  shift
  [[ $preset == release ]] || build_dir=$repo/build-$preset
  mkdir -p "$results/$preset-cases"
  GTEST_OUTPUT=xml:$results/$preset-cases/ ctest --test-dir "$build_dir" --output-on-failure --no-tests=error \
    --parallel "$(getconf _NPROCESSORS_ONLN)" --timeout 600 --output-junit "$results/$preset-unit.xml" "$@" || failed=1
}

# run_pytest REPORT PYTEST-ARGUMENTS...: exit code 5 of pytest means that the arguments chose no test.
run_pytest() {
  local report=$1 status=0
  shift
  "$(path_of tools)/bin/python" -m pytest -q -p no:cacheprovider --durations=8 --junitxml="$results/$report-outside.xml" "$@" || status=$?
  if ((status == 5)); then say "no test was chosen by: $*"; fi
  if ((status != 0 && status != 5)); then failed=1; fi
}

# run_outside PRESET PYTEST-ARGUMENTS...
run_outside() {
  local preset=$1 build_dir=$repo/build
  shift
  [[ $preset == release ]] || build_dir=$repo/build-$preset
  KVALET_BIN=$build_dir/kvalet run_pytest "$preset" "$repo/tests/e2e" "$@"
}

run_sanitized() {
  local preset=$1
  "$here/build.sh" "$preset"
  run_unit "$preset" -LE llama
  run_outside "$preset" -m fake
}

# The short form: what builds in a few minutes. `make test-asan` is the whole.
short_tests=(sched_test sched_cost_test engine_test sim_test sim_engine_cost_test http_test text_pure_test)
run_short_asan() {
  "$here/build.sh" asan "${short_tests[@]}"
  run_unit asan -R "^($(IFS='|' && echo "${short_tests[*]}"))\$"
}

run_all() {
  "$here/build.sh" release
  run_unit release
  run_pytest scripts "$repo/tests/scripts"
  # shellcheck disable=SC2086  # ARGS is a list
  run_outside release ${ARGS:-}
  if [[ ${KVALET_SANITIZE_CHECK:-${CI:-}} =~ ^(1|true)$ ]]; then run_short_asan; fi
}

run_asan() {
  "$here/build.sh" asan
  run_unit asan
  # shellcheck disable=SC2086
  run_outside asan ${ARGS:-}
}

"$here/deps.sh" ensure packages test-packages libllama model tools clients tiny-models
KVALET_TEST_MODEL=$(path_of model)
KVALET_TEST_TINY_DIR=$(path_of tiny-models)
export KVALET_TEST_MODEL KVALET_TEST_TINY_DIR
rm -rf "$results"
mkdir -p "$results"
failed=0
case ${1:-all} in
  all) run_all ;;
  asan) run_asan ;;
  tsan) run_sanitized tsan ;;
  *) die "usage: test.sh all|asan|tsan" ;;
esac
"$(path_of tools)/bin/python" "$here/count_tests.py" "$results" || failed=1
exit "$failed"
