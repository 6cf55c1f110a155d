# Finds libllama: the system's, or the one that the set-up (`make deps`) made in the cache. Only scripts/deps.sh knows
# where that is, so that plain `cmake --preset release` and the Makefile always agree.
function(kvalet_path_of thing variable)
  execute_process(
    COMMAND ${CMAKE_SOURCE_DIR}/scripts/deps.sh path ${thing}
    OUTPUT_VARIABLE path
    OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_QUIET)
  set(${variable} "${path}" PARENT_SCOPE)
endfunction()

kvalet_path_of(libllama kvalet_llama_prefix)
# The models of the tests, which need not be there yet.
kvalet_path_of(model KVALET_MODEL)
kvalet_path_of(tiny-models KVALET_TINY_MODELS)

# Another libllama than in the last run of CMake (a new version, other CMAKE_ARGS): forget what was found of the old one.
if(DEFINED CACHE{KVALET_LLAMA_PREFIX} AND NOT "$CACHE{KVALET_LLAMA_PREFIX}" STREQUAL "${kvalet_llama_prefix}")
  get_cmake_property(kvalet_cached CACHE_VARIABLES)
  foreach(name ${kvalet_cached})
    if(name MATCHES "^(llama|ggml|GGML)_")
      unset(${name} CACHE)
    endif()
  endforeach()
endif()
set(KVALET_LLAMA_PREFIX "${kvalet_llama_prefix}" CACHE INTERNAL "Where libllama was looked for")

if(kvalet_llama_prefix)
  list(PREPEND CMAKE_PREFIX_PATH ${kvalet_llama_prefix})
endif()
find_package(llama CONFIG QUIET)
if(llama_FOUND)
  message(STATUS "libllama ${LLAMA_VERSION}: ${LLAMA_LIB_DIR}")
else()
  message(WARNING "No libllama: only the rooms that do without it are built. `make deps` makes one.")
endif()
