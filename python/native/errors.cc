#include "errors.h"

#include <nanobind/nanobind.h>
#include <sluice/sluice.h>

namespace nb = nanobind;

namespace sluice::python {

void check(sluice_code code) {
  if (code != SLUICE_OK) throw Failure(Code(code), sluice_last_error());
}

void set_python_error(const Failure& failure) {
  const nb::object error =
      nb::module_::import_("sluice.errors")
          .attr("from_status")(static_cast<sluice_code>(failure.code()), failure.what());
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
}

void register_errors() {
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const Failure& failure) {
      set_python_error(failure);
    }
  });
}

}  // namespace sluice::python
