# An installed Sluice goes into the wheel: libraries, plug-ins and the program. Libraries find plug-ins
# in `sluice` beside them, the program finds them in ../lib/sluice, libsluice opens libsluice_client
# beside itself when a program connects to a daemon.
set(SLUICE_ROOT $ENV{SLUICE_ROOT} CACHE PATH "Where Sluice is installed")
find_library(SLUICE_LIBRARY sluice REQUIRED HINTS ${SLUICE_ROOT}/lib)
find_library(SLUICE_COMPILER_LIBRARY sluice_compiler REQUIRED HINTS ${SLUICE_ROOT}/lib)
find_path(SLUICE_INCLUDE_DIR sluice/compile.hpp REQUIRED HINTS ${SLUICE_ROOT}/include)
get_filename_component(library_dir ${SLUICE_LIBRARY} DIRECTORY)

target_include_directories(sluice_native PRIVATE ${SLUICE_INCLUDE_DIR})
target_link_libraries(sluice_native PRIVATE ${SLUICE_LIBRARY} ${SLUICE_COMPILER_LIBRARY})
set_target_properties(sluice_native PROPERTIES INSTALL_RPATH $ORIGIN/lib)
install(TARGETS sluice_native LIBRARY DESTINATION sluice)
# Under the names that the loader asks for: a wheel has no symbolic links.
foreach(library sluice sluice_compiler sluice_client)
  file(REAL_PATH ${library_dir}/lib${library}.so.0 file)
  install(FILES ${file} DESTINATION sluice/lib RENAME lib${library}.so.0)
endforeach()
install(DIRECTORY ${library_dir}/sluice/ DESTINATION sluice/lib/sluice
        PATTERN "*_sim.so" EXCLUDE)
install(PROGRAMS ${library_dir}/../bin/sluice DESTINATION sluice/bin)
