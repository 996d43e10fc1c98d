# How every test of the project is declared. Nothing here does anything unless SLUICE_DEVELOPER.
#
# A ctest entry is one program, not one case: a process per case costs more than the cases do.
# scripts/run-tests counts the cases from the report that each program leaves in test-results/.
set(SLUICE_TEST_RESULTS ${CMAKE_BINARY_DIR}/test-results)
set(SLUICE_TEST_KERNELS "$ENV{HOME}/.cache/sluice/test-kernels" CACHE PATH "Kernels of CUDA that tests compiled")
add_custom_target(fuzz_targets)

# sluice_test(<name> SRCS a_test.cc... [DEPS room...] [LINK external...]
#             [LABEL unit|golden|conformance|e2e|slow|gpu] [TIMEOUT seconds] [COST seconds])
#
# A googletest program, test/<name> in the build folder, run from the source root. TIMEOUT is for programs
# that may take more than half an hour on a machine that does other work. ctest begins with the highest COST: tests of
# more than half a minute have one, so that none runs alone at the end.
function(sluice_test name)
  if(NOT SLUICE_DEVELOPER)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "LABEL;TIMEOUT;COST" "SRCS;DEPS;LINK")
  _sluice_reject_unknown(${name} "${ARG_UNPARSED_ARGUMENTS}")
  add_executable(${name} ${ARG_SRCS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
  sluice_compile_lightly(${name})
  target_precompile_headers(${name} REUSE_FROM sluice_precompiled_tests)
  sluice_compile_in_units(${name} 4)
  list(TRANSFORM ARG_DEPS PREPEND sluice:: OUTPUT_VARIABLE deps)
  target_link_libraries(${name} PRIVATE ${deps} ${ARG_LINK} sluice::test_support
                                        GTest::gmock GTest::gtest GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  _sluice_describe_test(${name} "${ARG_LABEL}" "${ARG_TIMEOUT}" "${ARG_COST}")
endfunction()

# sluice_testing_library(<room> [SRCS testing/a.cc...] [DEPS room...] [LINK external...])
#
# What several test files share, in the folder testing/ of a room: the target sluice_<room>_testing,
# also sluice::<room>_testing, which tests name in their DEPS. Without SRCS it is header-only. It sees
# tests/ and googletest as tests do; production code never links it or includes from testing/.
function(sluice_testing_library room)
  if(NOT SLUICE_DEVELOPER)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SRCS;DEPS;LINK")
  _sluice_reject_unknown(${room}_testing "${ARG_UNPARSED_ARGUMENTS}")
  set(name sluice_${room}_testing)
  if(ARG_SRCS)
    set(scope PUBLIC)
    add_library(${name} STATIC ${ARG_SRCS})
    sluice_compile_lightly(${name})
    # As the tests' precompiled headers are: programs alone link it.
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${name} PRIVATE -fPIE)
    target_precompile_headers(${name} REUSE_FROM sluice_precompiled_tests)
  else()
    set(scope INTERFACE)
    add_library(${name} INTERFACE)
  endif()
  add_library(sluice::${room}_testing ALIAS ${name})
  list(TRANSFORM ARG_DEPS PREPEND sluice:: OUTPUT_VARIABLE deps)
  target_link_libraries(${name} ${scope} ${deps} ${ARG_LINK} sluice::test_support GTest::gmock
                                         GTest::gtest)
endfunction()

# Claims run once: what a test's own code would gain by full optimisation costs more to compile. The paths that
# googletest keeps are those of the source tree, so that ccache knows the objects of another clone.
function(sluice_compile_lightly name)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-Og> -fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=)
endfunction()

# sluice_script_test(<name> COMMAND program args... [LABEL ...|torch] [TIMEOUT seconds] [COST seconds])
#
# Passes when the command exits 0, is skipped when it exits 77. Run from the source root. It counts
# as one case, or as many as its last line says if that reads "N passed, N failed[, N skipped]".
function(sluice_script_test name)
  if(NOT SLUICE_DEVELOPER)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "LABEL;TIMEOUT;COST" "COMMAND")
  _sluice_reject_unknown(${name} "${ARG_UNPARSED_ARGUMENTS}")
  add_test(NAME ${name} COMMAND ${ARG_COMMAND} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  _sluice_describe_test(${name} "${ARG_LABEL}" "${ARG_TIMEOUT}" "${ARG_COST}")
endfunction()

# sluice_fuzz_target(<name> SRCS name_fuzz.cc [DEPS room...] [LINK external...])
#
# SRCS define LLVMFuzzerTestOneInput. With the preset `fuzz` that makes the libFuzzer program
# fuzz/<name>; elsewhere a test that replays tests/fuzz/corpus/<name> and checks that nothing breaks.
function(sluice_fuzz_target name)
  if(NOT SLUICE_DEVELOPER)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SRCS;DEPS;LINK")
  _sluice_reject_unknown(${name} "${ARG_UNPARSED_ARGUMENTS}")
  list(TRANSFORM ARG_DEPS PREPEND sluice:: OUTPUT_VARIABLE deps)
  add_executable(fuzz_${name} ${ARG_SRCS})
  sluice_compile_lightly(fuzz_${name})
  sluice_precompile_program(fuzz_${name} ${ARG_DEPS})
  target_link_libraries(fuzz_${name} PRIVATE ${deps} ${ARG_LINK})
  set_target_properties(fuzz_${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY
                                                ${CMAKE_BINARY_DIR}/fuzz)
  add_dependencies(fuzz_targets fuzz_${name})
  if(SLUICE_SANITIZE MATCHES "fuzzer")
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    return()
  endif()
  target_link_libraries(fuzz_${name} PRIVATE sluice_fuzz_replay)
  add_test(NAME fuzz_replay_${name}
           COMMAND fuzz_${name} tests/fuzz/corpus/${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  _sluice_describe_test(fuzz_replay_${name} unit "" "")
endfunction()

function(_sluice_describe_test name label timeout cost)
  if(NOT label)
    set(label unit)
  endif()
  # It only ends what hangs: no test is judged by its time, and a busy machine takes many times as long.
  if(NOT timeout)
    set(timeout 1800)
  endif()
  if(SLUICE_SANITIZE)
    math(EXPR timeout "10 * ${timeout}") # what a sanitizer slows down is not late
  endif()
  # No test reads what the user's cache keeps, or an earlier build compiled, but for kernels of CUDA: as ccache does, the
  # plug-in finds those of equal text, options and compiler. NumPy's threads spin while they wait for
  # each other, which takes more of a busy machine's time than the products of tests do.
  set_tests_properties(
    ${name} PROPERTIES LABELS ${label} TIMEOUT ${timeout} SKIP_RETURN_CODE 77 ENVIRONMENT
                       "GTEST_OUTPUT=xml:${SLUICE_TEST_RESULTS}/${name}.xml;SLUICE_CACHE_DIR=;SLUICE_CUDA_CACHE_DIR=${SLUICE_TEST_KERNELS};OPENBLAS_NUM_THREADS=1")
  if(cost)
    set_tests_properties(${name} PROPERTIES COST ${cost})
  endif()
endfunction()
