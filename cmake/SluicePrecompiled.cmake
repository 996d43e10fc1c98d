# Headers that nearly every source reads, compiled once for each set of flags (docs/decisions/0025 and 0188). They are of
# the system and of libraries alone: one of ours would compile everything again when it changes. Sources still include
# what they use: the checks of headers and clang-tidy read without these.
set(standard <algorithm> <array> <atomic> <chrono> <cmath> <cstring> <functional> <limits> <map> <memory> <mutex> <optional>
             <set> <span> <string> <string_view> <utility> <vector>)
set(ours ${standard} <condition_variable> <deque> <filesystem> <fstream> <stop_token> <thread> <variant> <fmt/format.h>
         <nlohmann/json.hpp>)
set(nothing ${CMAKE_BINARY_DIR}/generated/precompiled.cc)
file(CONFIGURE OUTPUT ${nothing} CONTENT "")

# Of rooms, and of programs that link them.
add_library(sluice_precompiled OBJECT ${nothing})
target_link_libraries(sluice_precompiled PRIVATE fmt::fmt Threads::Threads)
target_precompile_headers(sluice_precompiled PRIVATE ${ours})

# Of plug-ins, which link no room and no fmt.
add_library(sluice_precompiled_plugins OBJECT ${nothing})
target_precompile_headers(sluice_precompiled_plugins PRIVATE ${standard})

# Of all tests.
if(SLUICE_DEVELOPER)
  add_executable(sluice_precompiled_tests EXCLUDE_FROM_ALL ${nothing})
  target_link_libraries(sluice_precompiled_tests PRIVATE fmt::fmt Threads::Threads GTest::gmock
                                                         GTest::gtest GTest::gtest_main)
  target_precompile_headers(sluice_precompiled_tests PRIVATE ${ours} <gmock/gmock.h> <gtest/gtest.h>)
  sluice_compile_lightly(sluice_precompiled_tests)
endif()

# sluice_precompile_program(<target> [<room>...]): of a program that is no test. Without rooms it sees what plug-ins see.
# Its objects are position-independent as a library's are, as the precompiled headers are.
function(sluice_precompile_program name)
  target_compile_options(${name} PRIVATE -fPIC)
  if(ARGN)
    target_precompile_headers(${name} REUSE_FROM sluice_precompiled)
  else()
    target_precompile_headers(${name} REUSE_FROM sluice_precompiled_plugins)
  endif()
endfunction()
