# Language, warnings, tools and output folders, for every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/archive)
set(SLUICE_PLUGIN_DIR ${CMAKE_BINARY_DIR}/lib/sluice)
set(SLUICE_GENERATED_DIR ${CMAKE_BINARY_DIR}/generated)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  # ccache must be told that precompiled headers define what their sources define. Paths below
  # CCACHE_BASEDIR become relative, so that two checkouts of the project share their objects.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} ${CCACHE_PROGRAM})
endif()

find_program(MOLD_PROGRAM mold)
find_program(LLD_PROGRAM ld.lld)
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
elseif(LLD_PROGRAM)
  add_link_options(-fuse-ld=lld)
endif()

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wcast-qual -Wundef)
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
                    $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 warns about code it invented itself while inlining; these stay hints.
  set(hints array-bounds free-nonheap-object maybe-uninitialized nonnull null-dereference restrict
      stringop-overflow stringop-overread dangling-pointer)
  list(TRANSFORM hints PREPEND -Wno-error=)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wduplicated-cond> ${hints})
  # A unit needs 1 GB and less. GCC would look for garbage in it every 256 MB: a tenth of its time (docs/decisions/0188).
  add_compile_options(--param=ggc-min-heapsize=400000)
endif()
# Warnings are errors with the compilers that CI uses. A newer compiler's warnings must not stop a user's
# build. The flags do not depend on SLUICE_DEVELOPER, so `make test` reuses the objects of `make demo`.
if("${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}" MATCHES "^(GNU 12|Clang 14)\\.")
  add_compile_options(-Werror)
endif()

# Spans and vectors of debug builds, and of fuzzers, refuse an index outside.
add_compile_definitions($<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)

if(SLUICE_SANITIZE)
  if(SLUICE_SANITIZE MATCHES "fuzzer")
    add_compile_definitions(FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION)
  endif()
  add_compile_options(-fsanitize=${SLUICE_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${SLUICE_SANITIZE})
endif()
