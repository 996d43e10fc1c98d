# sluice_embed(<target> <header> <namespace> <folder>): the files of a folder, in the binary.
#
# Generates a source that defines `std::span<const Asset> assets()` of <namespace>, which <header>
# declares: names, bytes and hashes of the files. This file is also the script that writes the source,
# so that a changed file of the folder is enough to make it again.

function(sluice_embed target header namespace folder)
  file(GLOB files CONFIGURE_DEPENDS ${folder}/*)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/assets.cc)
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DHEADER=${header} -DNAMESPACE=${namespace} "-DFILES=${files}"
            -DSOURCE=${source} -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    DEPENDS ${files} ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    COMMENT "Embedding ${folder}"
    VERBATIM)
  target_sources(${target} PRIVATE ${source})
endfunction()

if(NOT CMAKE_SCRIPT_MODE_FILE)
  return()
endif()
set(entries "")
foreach(path IN LISTS FILES)
  get_filename_component(name ${path} NAME)
  file(READ ${path} digits HEX)
  file(SIZE ${path} size)
  file(SHA256 ${path} hash)
  string(SUBSTRING ${hash} 0 16 hash)
  # A line per 32 bytes; the compiler joins them.
  string(REGEX REPLACE "(................................................................)" "\\1\n"
                       digits "${digits}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" digits "${digits}")
  string(REGEX REPLACE "([^\n]+)" "        \"\\1\"" digits "${digits}")
  string(APPEND entries "    {\"${name}\", \"\\\"${hash}\\\"\",\n     {\n${digits},\n      ${size}}},\n")
endforeach()
file(WRITE ${SOURCE} "// Written by cmake/SluiceAssets.cmake.
#include \"${HEADER}\"

namespace ${NAMESPACE} {
namespace {

constexpr Asset kAssets[] = {
${entries}};

}  // namespace

std::span<const Asset> assets() { return kAssets; }

}  // namespace ${NAMESPACE}
")
