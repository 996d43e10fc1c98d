# For the Python wheel: libsluice, libsluice_compiler and the program `sluice` as one library, so that the
# wheel has the engine once, and a program that calls it (docs/decisions/0044).
if(NOT TARGET sluice_compiler_shared)
  return()
endif()
add_library(sluice_wheel_library SHARED EXCLUDE_FROM_ALL wheel/entry.cc $<TARGET_OBJECTS:sluice_api>
                                        $<TARGET_OBJECTS:sluice_compiler>)
set_target_properties(sluice_wheel_library PROPERTIES OUTPUT_NAME sluice_python VERSION ${PROJECT_VERSION}
                                                      SOVERSION ${PROJECT_VERSION_MAJOR})
target_include_directories(sluice_wheel_library PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(sluice_wheel_library PRIVATE sluice::commands sluice::api sluice::compiler)
# It exports what both libraries export, with their versions, and the program.
target_link_options(sluice_wheel_library PRIVATE -Wl,--exclude-libs,ALL)
foreach(map IN ITEMS libsluice libsluice_compiler libsluice_python)
  target_link_options(sluice_wheel_library PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/${map}.map)
endforeach()

add_executable(sluice_wheel_program EXCLUDE_FROM_ALL wheel/main.cc)
set_target_properties(sluice_wheel_program PROPERTIES OUTPUT_NAME sluice-of-wheel INSTALL_RPATH $ORIGIN/../lib)
target_include_directories(sluice_wheel_program PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(sluice_wheel_program PRIVATE sluice_wheel_library)

add_custom_target(wheel_parts DEPENDS sluice_wheel_program)
install(TARGETS sluice_wheel_library sluice_wheel_program COMPONENT wheel EXCLUDE_FROM_ALL)
