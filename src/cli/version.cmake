# Writes version.h with the number and the hash of the commit that is built: llama-server's form "b<number>-<commit>".
# Run at every build; touches the file only when something changed.
set(info "b0-unknown")
find_package(Git QUIET)
if(GIT_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} rev-list --count HEAD WORKING_DIRECTORY ${SOURCE}
    OUTPUT_VARIABLE count OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --short=8 HEAD WORKING_DIRECTORY ${SOURCE}
    OUTPUT_VARIABLE hash OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT failed AND hash)
    set(info "b${count}-${hash}")
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT [[
#pragma once
#define KVALET_VERSION "@VERSION@"
#define KVALET_BUILD_INFO "@info@"
]] @ONLY)
