# Headers that nearly every source of the rooms and of their tests reads, compiled once (docs/decisions/0025).
# Sources still include what they use: the checks of headers and clang-tidy read without these. Plug-ins get none.
set(headers <algorithm> <array> <chrono> <cstring> <filesystem> <functional> <map> <memory> <optional> <span>
            <string> <string_view> <utility> <variant> <vector> <fmt/format.h>)
set(nothing ${CMAKE_BINARY_DIR}/generated/precompiled.cc)
file(CONFIGURE OUTPUT ${nothing} CONTENT "")

add_library(sluice_precompiled OBJECT ${nothing})
target_link_libraries(sluice_precompiled PRIVATE fmt::fmt Threads::Threads)
target_precompile_headers(sluice_precompiled PRIVATE ${headers})

if(SLUICE_DEVELOPER)
  add_executable(sluice_precompiled_tests EXCLUDE_FROM_ALL ${nothing})
  target_link_libraries(sluice_precompiled_tests PRIVATE fmt::fmt Threads::Threads GTest::gmock
                                                         GTest::gtest GTest::gtest_main)
  target_precompile_headers(sluice_precompiled_tests PRIVATE ${headers} <gmock/gmock.h> <gtest/gtest.h>)
  sluice_compile_lightly(sluice_precompiled_tests)
endif()
