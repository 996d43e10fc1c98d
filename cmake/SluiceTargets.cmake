# How every library, plug-in and tool of the project is declared.

# What `make build` makes: programs, plug-ins and the library, without tests and benchmarks.
add_custom_target(dist)
# Programs that print figures of speed.
add_custom_target(benches)

# sluice_add_rooms(<folder>...): add_subdirectory of each that has a CMakeLists.txt.
function(sluice_add_rooms)
  foreach(room IN LISTS ARGN)
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${room}/CMakeLists.txt)
      add_subdirectory(${room})
    endif()
  endforeach()
endfunction()

# sluice_library(<room> SRCS a.cc... [DEPS base ir...] [LINK external...] [PUBLIC_LINK external...]
#                [TESTS a_test.cc...] [TEST_DEPS room...] [TEST_LINK external...])
#
# The target sluice_<room>, also sluice::<room>. Without SRCS it is header-only. DEPS are rooms whose
# headers this one's headers may show. LINK stays private; PUBLIC_LINK reaches whoever links the room.
# TESTS become one executable, <room>_test.
function(sluice_library name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG ""
                        "" "SRCS;DEPS;LINK;PUBLIC_LINK;TESTS;TEST_DEPS;TEST_LINK")
  _sluice_reject_unknown(${name} "${ARG_UNPARSED_ARGUMENTS}")
  if(ARG_SRCS)
    set(scope PUBLIC)
    add_library(sluice_${name} STATIC ${ARG_SRCS})
    target_link_libraries(sluice_${name} PRIVATE ${ARG_LINK})
    target_precompile_headers(sluice_${name} REUSE_FROM sluice_precompiled)
    sluice_compile_in_units(sluice_${name})
  else()
    set(scope INTERFACE)
    add_library(sluice_${name} INTERFACE)
  endif()
  add_library(sluice::${name} ALIAS sluice_${name})
  target_include_directories(
    sluice_${name} ${scope} ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include
                            ${SLUICE_GENERATED_DIR})
  list(TRANSFORM ARG_DEPS PREPEND sluice:: OUTPUT_VARIABLE deps)
  target_link_libraries(sluice_${name} ${scope} ${deps} fmt::fmt Threads::Threads
                                                ${ARG_PUBLIC_LINK})
  if(ARG_TESTS)
    sluice_test(${name}_test SRCS ${ARG_TESTS} DEPS ${name} ${ARG_TEST_DEPS}
                LINK ${ARG_LINK} ${ARG_TEST_LINK})
  endif()
endfunction()

# sluice_backend(<name> SRCS a.cc... [LINK external...] [TESTS a_test.cc...])
#
# The plug-in lib/sluice/libsluice_backend_<name>.so. It sees include/ and its own folder, both
# as roots, and nothing of src/. Its objects are also the target sluice_backend_<name>_objects, which
# TESTS link, so that a plug-in's insides are tested without loading it.
function(sluice_backend name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SRCS;LINK;TESTS")
  _sluice_reject_unknown(${name} "${ARG_UNPARSED_ARGUMENTS}")
  set(objects sluice_backend_${name}_objects)
  add_library(${objects} OBJECT ${ARG_SRCS})
  target_include_directories(${objects} PUBLIC ${CMAKE_SOURCE_DIR}/include
                                               ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${objects} PUBLIC ${ARG_LINK} Threads::Threads)
  target_precompile_headers(${objects} REUSE_FROM sluice_precompiled_plugins)
  sluice_compile_in_units(${objects})

  add_library(sluice_backend_${name} MODULE $<TARGET_OBJECTS:${objects}>)
  target_link_libraries(sluice_backend_${name} PRIVATE ${ARG_LINK} Threads::Threads)
  set_target_properties(sluice_backend_${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY
                                                          ${SLUICE_PLUGIN_DIR})
  sluice_export_only_entry(sluice_backend_${name})
  add_dependencies(dist sluice_backend_${name})
  install(TARGETS sluice_backend_${name} LIBRARY DESTINATION lib/sluice)
  if(ARG_TESTS)
    sluice_test(backend_${name}_test SRCS ${ARG_TESTS} LINK ${objects})
  endif()
endfunction()

# sluice_export_only_entry(<target>): of a plug-in that is not made by sluice_backend.
function(sluice_export_only_entry target)
  set(map ${PROJECT_SOURCE_DIR}/cmake/plugin.map)
  target_link_options(${target} PRIVATE -Wl,--version-script=${map})
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${map})
endfunction()

# sluice_tool(<name> SRCS main.cc... [DEPS room...] [LINK external...]): the program bin/<name>.
function(sluice_tool name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SRCS;DEPS;LINK")
  _sluice_reject_unknown(${name} "${ARG_UNPARSED_ARGUMENTS}")
  add_executable(sluice_tool_${name} ${ARG_SRCS})
  set_target_properties(sluice_tool_${name} PROPERTIES OUTPUT_NAME ${name})
  sluice_precompile_program(sluice_tool_${name} ${ARG_DEPS})
  sluice_compile_in_units(sluice_tool_${name})
  target_include_directories(sluice_tool_${name} PRIVATE ${CMAKE_SOURCE_DIR}/tools)
  list(TRANSFORM ARG_DEPS PREPEND sluice:: OUTPUT_VARIABLE deps)
  target_link_libraries(sluice_tool_${name} PRIVATE ${deps} ${ARG_LINK})
  add_dependencies(dist sluice_tool_${name})
  install(TARGETS sluice_tool_${name})
endfunction()

function(_sluice_reject_unknown name unparsed)
  if(unparsed)
    message(FATAL_ERROR "${name}: unknown arguments: ${unparsed}")
  endif()
endfunction()

# sluice_bench(<name> SRCS a.cc... [DEPS room...] [LINK external...]): the program bench/<name> of
# the build folder. It prints figures and is no test, but developers build it with everything else, so
# that a change that breaks it is seen.
function(sluice_bench name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SRCS;DEPS;LINK")
  _sluice_reject_unknown(${name} "${ARG_UNPARSED_ARGUMENTS}")
  add_executable(bench_${name} ${ARG_SRCS})
  sluice_precompile_program(bench_${name} ${ARG_DEPS})
  if(NOT SLUICE_DEVELOPER)
    set_target_properties(bench_${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  set_target_properties(bench_${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY
                                                 ${CMAKE_BINARY_DIR}/bench)
  list(TRANSFORM ARG_DEPS PREPEND sluice:: OUTPUT_VARIABLE deps)
  target_link_libraries(bench_${name} PRIVATE ${deps} ${ARG_LINK})
  add_dependencies(benches bench_${name})
endfunction()

# sluice_nvcc_program(<output> <source> [RUNTIME static] [GUEST_LIBRARY target] [FLAGS flag...]): a CUDA program as a user
# builds it, with machine code and PTX. Its CUDA runtime is shared unless RUNTIME says static; it may link a library of guests.
# Requires SLUICE_NVCC_COMPILES.
function(sluice_nvcc_program output source)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "" "RUNTIME;GUEST_LIBRARY" "FLAGS")
  set(runtime shared)
  if(ARG_RUNTIME)
    set(runtime ${ARG_RUNTIME})
  endif()
  set(libraries)
  if(ARG_GUEST_LIBRARY)
    set(libraries $<TARGET_LINKER_FILE:${ARG_GUEST_LIBRARY}>)
  endif()
  file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/e2e/guest/programs/*.cuh)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${SLUICE_NVCC} -O2 ${ARG_FLAGS} -cudart ${runtime} -gencode arch=compute_90,code=sm_90 -gencode
            arch=compute_75,code=compute_75 -I${CMAKE_SOURCE_DIR}/tests/e2e/guest/programs ${source} ${libraries} -o ${output}
    DEPENDS ${source} ${headers} ${ARG_GUEST_LIBRARY}
    VERBATIM)
endfunction()
