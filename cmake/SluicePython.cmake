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
# python_package is the files of python/tests, python_<folder> those of a folder there: they run beside each other.
# Files are named, because the pages of docs/seed-coverage name their tests.
function(_sluice_python_test name folder)
  file(GLOB files RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS ${folder}/test_*.py)
  if(files)
    sluice_script_test(${name} COMMAND scripts/test-python ${CMAKE_BINARY_DIR} ${files} LABEL e2e COST 100)
  endif()
endfunction()
_sluice_python_test(python_package python/tests)
file(GLOB folders RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS python/tests/*)
foreach(folder ${folders})
  get_filename_component(part ${folder} NAME)
  _sluice_python_test(python_${part} ${folder})
endforeach()
# `make test` leaves out what has the label `torch`: `make test-torch` runs it on all processors.
file(GLOB torch_tests RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS
     python/tests_torch/test_*.py python/tests_torch/gpu/test_*.py)
sluice_script_test(
  python_torch COMMAND scripts/test-torch ${CMAKE_BINARY_DIR} ${torch_tests} LABEL torch)
