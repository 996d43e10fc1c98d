#include "calls/errors.h"

#include <nanobind/nanobind.h>
#include <sluice/sluice.h>

namespace nb = nanobind;

namespace sluice::python {
namespace {

/// sluice.errors.from_status. Never freed: objects fail while the interpreter ends, when nothing
/// can be imported.
nb::object* g_from_status = nullptr;

}  // namespace

void check(sluice_code code) {
  if (code != SLUICE_OK) throw Failure(Code(code), sluice_last_error());
}

nb::str to_text(std::string_view message) {
  PyObject* text =
      PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "replace");
  if (text == nullptr) throw nb::python_error();
  return nb::steal<nb::str>(text);
}

void set_python_error(const Failure& failure) {
  const nb::object error =
      (*g_from_status)(static_cast<sluice_code>(failure.code()), to_text(failure.message()));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
}

void register_errors() {
  g_from_status = new nb::object(nb::module_::import_("sluice.errors").attr("from_status"));
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const Failure& failure) {
      set_python_error(failure);
    }
  });
}

}  // namespace sluice::python
