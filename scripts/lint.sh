#!/usr/bin/env bash
# Looks for what the compiler's warnings do not see. Exit code 1 if there is anything.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/common.sh
source "$here/common.sh"
cd "$repo"

mapfile -t sources < <(git ls-files 'src/*.cpp' 'src/*.h' 'tests/*.cpp' 'tests/*.h' 'bench/*.cpp' 'bench/*.h')
status=0
say "clang-format"
clang-format --dry-run --Werror "${sources[@]}" || status=1
say "shellcheck"
shellcheck -x scripts/*.sh .ci/run || status=1
say "clang-tidy"
"$here/build.sh" release >&2
run-clang-tidy -quiet -p build "$repo/src/.*" || status=1
exit $status
