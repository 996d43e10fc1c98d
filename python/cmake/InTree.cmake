# The package as build/<preset>/python/sluice: the extension, and links to the sources.
target_link_libraries(sluice_native PRIVATE sluice_shared sluice_compiler_shared)
# nanobind's headers are not ours to warn about.
get_target_property(nanobind_includes sluice_native INCLUDE_DIRECTORIES)
target_include_directories(sluice_native SYSTEM PRIVATE ${nanobind_includes} ${nanobind_ROOT}/../include
                                                        ${Python_INCLUDE_DIRS})
set(package_dir ${CMAKE_BINARY_DIR}/python/sluice)
set_target_properties(sluice_native PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${package_dir})
file(GLOB sources RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/sluice CONFIGURE_DEPENDS sluice/*)
file(MAKE_DIRECTORY ${package_dir})
# Links of an earlier build to sources that are gone.
file(GLOB links ${package_dir}/*)
foreach(link IN LISTS links)
  if(IS_SYMLINK ${link} AND NOT EXISTS ${link})
    file(REMOVE ${link})
  endif()
endforeach()
foreach(source IN LISTS sources)
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/sluice/${source} ${package_dir}/${source} SYMBOLIC)
endforeach()
