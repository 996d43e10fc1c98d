#include "callable_model.h"

#include <structmember.h>

#include <cstddef>
#include <new>

#include "calls/errors.h"
#include "loaded_model.h"
#include "model.h"

namespace sluice::python {
namespace {

// A class of C's interface, because nanobind sets up exceptions, arguments and self for every
// function.
struct CallableModel {
  PyObject head;
  PyObject* native;
};

PyTypeObject* g_model_type = nullptr;
PyTypeObject* g_loaded_model_type = nullptr;
PyObject* g_convert_and_call = nullptr;

PyObject* member_of(PyObject* self) { return reinterpret_cast<CallableModel*>(self)->native; }

/// The result; null with Python's error set, or null without for the other way.
template <typename Native>
PyObject* call_arrays(PyObject* native, PyObject* arguments) {
  try {
    const nb::object kept = nb::borrow(native);  // another thread may set the attribute
    return nb::inst_ptr<Native>(kept)->call_arrays(arguments).release().ptr();
  } catch (const Failure& failure) {
    set_python_error(failure);
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

PyObject* call(PyObject* self, PyObject* arguments, PyObject* named) {
  PyObject* native = member_of(self);
  if (native != nullptr && (named == nullptr || PyDict_Size(named) == 0)) {
    PyObject* result = nullptr;
    if (Py_TYPE(native) == g_model_type) result = call_arrays<NativeModel>(native, arguments);
    if (Py_TYPE(native) == g_loaded_model_type) {
      result = call_arrays<NativeLoadedModel>(native, arguments);
    }
    if (result != nullptr || PyErr_Occurred() != nullptr) return result;
  }
  PyObject* method = PyObject_GetAttr(self, g_convert_and_call);
  if (method == nullptr) return nullptr;
  PyObject* result = PyObject_Call(method, arguments, named);
  Py_DECREF(method);
  return result;
}

void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_XDECREF(member_of(self));
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

PyMemberDef g_members[] = {{"_native", T_OBJECT_EX, offsetof(CallableModel, native), 0, nullptr},
                           {}};

PyType_Slot g_slots[] = {{Py_tp_call, reinterpret_cast<void*>(call)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
                         {Py_tp_members, g_members},
                         {0, nullptr}};

PyType_Spec g_spec = {"sluice._native.CallableModel", sizeof(CallableModel), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, g_slots};

}  // namespace

void bind_callable_model(nb::module_& module) {
  g_model_type = reinterpret_cast<PyTypeObject*>(nb::type<NativeModel>().ptr());
  g_loaded_model_type = reinterpret_cast<PyTypeObject*>(nb::type<NativeLoadedModel>().ptr());
  g_convert_and_call = PyUnicode_InternFromString("_convert_and_call");
  PyObject* type = PyType_FromSpec(&g_spec);
  if (type == nullptr || g_convert_and_call == nullptr) nb::raise_python_error();
  module.attr("CallableModel") = nb::steal(type);
}

}  // namespace sluice::python
