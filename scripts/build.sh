#!/usr/bin/env bash
# build.sh PRESET [TARGET...]: configures (when needed) and builds one of the presets; all targets if none is named.
# The set-up must be there (deps.sh ensure packages libllama).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/common.sh
source "$here/common.sh"

preset=$1
shift
build_dir=$repo/build
[[ $preset == release ]] || build_dir=$repo/build-$preset

# ccache knows the sources of another clone again: paths are cut to the project's root.
export CCACHE_BASEDIR=$repo CCACHE_NOHASHDIR=1

cd "$repo"
deps="$("$here/deps.sh" path libllama) $("$here/deps.sh" path tiny-models)"
if [[ ! -e $build_dir/build.ninja || $(cat "$build_dir/.deps" 2>/dev/null) != "$deps" ]]; then
  say "configuring $preset"
  mkdir -p "$build_dir"
  cmake --preset "$preset" >"$build_dir/configure.log" 2>&1 || { cat "$build_dir/configure.log" >&2; die "CMake failed"; }
  echo "$deps" >"$build_dir/.deps"
fi

say "building $preset"
cmake --build "$build_dir" --parallel "$(getconf _NPROCESSORS_ONLN)" ${1:+--target "$@"}
