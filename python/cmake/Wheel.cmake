# An installed Sluice goes into the wheel: libraries, plug-ins and the program. libsluice_python is libsluice,
# libsluice_compiler and the program in one. It finds plug-ins in `sluice` beside it, and opens
# libsluice_client beside itself when a program connects to a daemon.
set(SLUICE_ROOT $ENV{SLUICE_ROOT} CACHE PATH "Where Sluice is installed")
set(parts_dir ${SLUICE_ROOT}/wheel)
find_library(SLUICE_LIBRARY sluice_python REQUIRED HINTS ${parts_dir}/lib)
find_path(SLUICE_INCLUDE_DIR sluice/compile.hpp REQUIRED HINTS ${SLUICE_ROOT}/include)
set(library_dir ${SLUICE_ROOT}/lib)

target_include_directories(sluice_native PRIVATE ${SLUICE_INCLUDE_DIR})
target_link_libraries(sluice_native PRIVATE ${SLUICE_LIBRARY})
set_target_properties(sluice_native PROPERTIES INSTALL_RPATH $ORIGIN/lib)
install(TARGETS sluice_native LIBRARY DESTINATION sluice)
# Under the names that the loader asks for: a wheel has no symbolic links.
foreach(library ${parts_dir}/lib/libsluice_python.so.0 ${library_dir}/libsluice_client.so.0)
  file(REAL_PATH ${library} file)
  get_filename_component(name ${library} NAME)
  install(FILES ${file} DESTINATION sluice/lib RENAME ${name})
endforeach()
# Guests need a proxy, which is a part of the daemon; auditwheel would add a library of NVIDIA's for their cuBLAS.
install(DIRECTORY ${library_dir}/sluice/ DESTINATION sluice/lib/sluice
        PATTERN "*_sim.so" EXCLUDE
        PATTERN guest EXCLUDE)
install(PROGRAMS ${parts_dir}/bin/sluice-of-wheel DESTINATION sluice/bin RENAME sluice)
