# The warning level of the whole tree: warnings are errors.
add_library(kvalet_warnings INTERFACE)
target_compile_options(kvalet_warnings INTERFACE -Wall -Wextra -Wconversion -Wshadow -Werror)

if(KVALET_SANITIZE)
  add_compile_options(-fsanitize=${KVALET_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${KVALET_SANITIZE})
  if(KVALET_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
  if(KVALET_SANITIZE MATCHES "thread")
    add_compile_options(-Wno-tsan)
  endif()
endif()

# kvalet_room(NAME LINKS targets... SOURCES files...): one library for each room, so that a wrong include does not link.
function(kvalet_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;LINKS" ${ARGN})
  if(ROOM_SOURCES)
    add_library(kvalet_${name} STATIC ${ROOM_SOURCES})
    target_include_directories(kvalet_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(kvalet_${name} PUBLIC ${ROOM_LINKS} PRIVATE kvalet_warnings)
  else()
    add_library(kvalet_${name} INTERFACE)
    target_include_directories(kvalet_${name} INTERFACE ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(kvalet_${name} INTERFACE ${ROOM_LINKS})
  endif()
endfunction()

# kvalet_test(NAME SOURCES files... LINKS targets... LABELS labels...): one GoogleTest binary, known to ctest. Label "llama"
# what runs libllama: the sanitizer runs on the fake backend leave it out. The models of the tests are in the environment.
function(kvalet_test name)
  cmake_parse_arguments(TEST "" "" "SOURCES;LINKS;LABELS" ${ARGN})
  add_executable(${name} ${TEST_SOURCES})
  target_link_libraries(${name} PRIVATE ${TEST_LINKS} kvalet_warnings GTest::gtest_main)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests ${CMAKE_SOURCE_DIR}/src)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES
    LABELS "${TEST_LABELS}"
    ENVIRONMENT "KVALET_TEST_MODEL=${KVALET_MODEL};KVALET_TEST_TINY_DIR=${KVALET_TINY_MODELS}")
endfunction()
