# What programs that use Sluice find in an installed tree: `find_package(sluice)` and pkg-config.
#
# Component `development` holds what they need to be built; the libraries themselves come with the rest.
include(CMakePackageConfigHelpers)
set(SLUICE_CMAKE_DIR lib/cmake/sluice)

# sluice_install_library(<target> COMPONENT runtime|compiler|client SUMMARY text [REQUIRES module...])
#
# Installs a shared library as sluice::<component>, and as a module of pkg-config.
function(sluice_install_library target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "COMPONENT;SUMMARY" "REQUIRES")
  _sluice_reject_unknown(${target} "${ARG_UNPARSED_ARGUMENTS}")
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${ARG_COMPONENT})
  target_include_directories(${target} INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>
                                                 $<INSTALL_INTERFACE:include>)
  target_compile_features(${target} INTERFACE cxx_std_20)  # of the .hpp files; C is as it was
  # "lib": plug-ins are looked for beside the library, in lib/sluice.
  install(TARGETS ${target} EXPORT sluice_${ARG_COMPONENT}
          LIBRARY DESTINATION lib NAMELINK_COMPONENT development)
  install(EXPORT sluice_${ARG_COMPONENT} NAMESPACE sluice:: FILE sluice_${ARG_COMPONENT}.cmake
          DESTINATION ${SLUICE_CMAKE_DIR} COMPONENT development)

  get_target_property(library ${target} OUTPUT_NAME)
  string(REPLACE "_" "-" module ${library})
  list(JOIN ARG_REQUIRES " " requires)
  set(summary ${ARG_SUMMARY})
  configure_file(${CMAKE_SOURCE_DIR}/cmake/module.pc.in ${CMAKE_BINARY_DIR}/pkgconfig/${module}.pc
                 @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/pkgconfig/${module}.pc DESTINATION lib/pkgconfig
          COMPONENT development)
endfunction()

install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/sluice DESTINATION include COMPONENT development)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/proto/ DESTINATION share/sluice/proto COMPONENT development
        FILES_MATCHING PATTERN "*.proto")
write_basic_package_version_file(${CMAKE_BINARY_DIR}/sluiceConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_SOURCE_DIR}/cmake/sluiceConfig.cmake
              ${CMAKE_BINARY_DIR}/sluiceConfigVersion.cmake
        DESTINATION ${SLUICE_CMAKE_DIR} COMPONENT development)
