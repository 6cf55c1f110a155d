#!/usr/bin/env bash
# Builds the release and every benchmark, then hands over to the comparison of bench/ with the arguments given.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/common.sh
source "$here/common.sh"

"$here/build.sh" release
[[ -e $repo/bench/compare.py ]] || die "there is no bench/compare.py yet; the microbenchmarks are in build/"
exec "$("$here/deps.sh" path tools)/bin/python" "$repo/bench/compare.py" "$@"
