#!/usr/bin/env bash
# Builds the release and every benchmark, then hands over to the comparison of bench/ with the arguments given.
# BENCH=budgets chooses another script of bench/ than compare.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/common.sh
source "$here/common.sh"

"$here/build.sh" release
script=$repo/bench/${BENCH:-compare}.py
[[ -e $script ]] || die "there is no $script"
exec "$("$here/deps.sh" path tools)/bin/python" "$script" "$@"
