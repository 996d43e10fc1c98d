# python/, built with the Python of .venv (scripts/install-deps test makes it) and tested by ctest.
set(SLUICE_VENV_PYTHON ${CMAKE_SOURCE_DIR}/.venv/bin/python)
if(SLUICE_PYTHON AND TARGET sluice_compiler_shared AND NOT SLUICE_SANITIZE)
  execute_process(
    COMMAND ${SLUICE_VENV_PYTHON} -c "import nanobind, sysconfig; print(sysconfig.get_path('include'))"
    OUTPUT_STRIP_TRAILING_WHITESPACE
    OUTPUT_VARIABLE python_include
    RESULT_VARIABLE python_result ERROR_QUIET)
  if(python_result EQUAL 0 AND EXISTS ${python_include}/Python.h)
    set(Python_EXECUTABLE ${SLUICE_VENV_PYTHON})
    add_subdirectory(python)
  else()
    message(STATUS "Python package: not built; scripts/install-deps test installs what it needs")
  endif()
endif()
sluice_script_test(
  python_package COMMAND scripts/test-python ${CMAKE_BINARY_DIR} LABEL e2e)
# The files are named, because the pages of docs/seed-coverage name their tests.
file(GLOB torch_tests RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS python/tests_torch/test_*.py)
sluice_script_test(
  python_torch COMMAND scripts/test-torch ${CMAKE_BINARY_DIR} ${torch_tests} LABEL e2e)
