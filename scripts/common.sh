# shellcheck shell=bash
# What every script here shares: where things are, how to speak, how to wait and how to make a folder atomically.
# Sourced, never run. All talk goes to stderr, so that `make -s model` has nothing but the path on stdout.

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${KVALET_DEPS:-${HOME:-/root}/.cache/kvalet}
[[ $cache == /* ]] || cache=$repo/$cache
export repo cache

# Builds that pip starts are not part of the make that started us.
unset MAKEFLAGS MFLAGS MAKELEVEL

# Seconds between two lines of progress.
readonly progress_every_s=15

say() { printf '%s\n' "kvalet: $*" >&2; }
die() { say "$*"; exit 1; }

# Where a step stands, from its log: "step 12 of 340" for Ninja and Make, else the last line, cut to fit a terminal.
log_position() {
  local tail_text step
  tail_text=$(tail -c 20000 "$1" 2>/dev/null | tr '\r' '\n') || true
  step=$(grep -aoE '\[ *[0-9]+(/[0-9]+|%)\]' <<<"$tail_text" | tail -n 1) || true
  if [[ -n $step ]]; then
    printf 'step %s' "$step"
  else
    grep -av '^[[:space:]]*$' <<<"$tail_text" | tail -n 1 | cut -c 1-90 || true
  fi
}

slow_pid=
stop_slow() {
  if [[ -n $slow_pid ]]; then kill -TERM -- "-$slow_pid" 2>/dev/null || true; fi
}

# slow LABEL LOG COMMAND...: runs the command with its output in LOG and says every few seconds how far it is.
# The command has a process group of its own, so that an interrupt ends all of it and not only its first process.
slow() {
  local label=$1 log=$2 started=$SECONDS next=$progress_every_s status=0
  shift 2
  mkdir -p "$(dirname "$log")"
  say "$label"
  set -m
  "$@" </dev/null >"$log" 2>&1 &
  slow_pid=$!
  set +m
  trap 'stop_slow; exit 130' INT TERM HUP
  trap stop_slow EXIT
  while kill -0 "$slow_pid" 2>/dev/null; do
    sleep 0.3
    if ((SECONDS - started >= next)); then
      say "  … $((SECONDS - started)) s, $(log_position "$log")"
      next=$((SECONDS - started + progress_every_s))
    fi
  done
  wait "$slow_pid" || status=$?
  slow_pid=
  trap - INT TERM HUP EXIT
  if ((status != 0)); then
    tail -n 25 "$log" >&2 || true
    die "failed (exit code $status): $label. The whole log: $log"
  fi
  say "  done in $((SECONDS - started)) s"
}

# locked NAME: takes the lock of that name until this process (and what it started) ends. Two runs at once do not clash:
# the second waits and finds the work done. Where flock is missing (not on Linux) there is no lock.
locked() {
  mkdir -p "$cache/locks"
  command -v flock >/dev/null || return 0
  exec 9>"$cache/locks/$1.lock"
  if ! flock -n 9; then
    say "another run is at work on $1, waiting for it"
    flock 9
  fi
}

# made_once PATH MAKER: MAKER is called with an empty folder beside PATH, which is renamed to PATH when it succeeded.
# PATH therefore is whole or not there at all; what an interrupted run left behind is removed by the next.
made_once() {
  local path=$1 maker=$2 name temp
  [[ -e $path ]] && return 0
  name=$(basename "$path")
  (
    locked "$name"
    rm -rf "$cache/tmp/$name".*
    if [[ ! -e $path ]]; then
      mkdir -p "$cache/tmp" "$(dirname "$path")"
      temp=$(mktemp -d "$cache/tmp/$name.XXXXXX")
      chmod 755 "$temp"
      "$maker" "$temp"
      mv "$temp" "$path"
    fi
  )
}

# The first eight digits of the SHA-256 of standard input.
hash8() {
  if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | cut -c 1-8
}
