// sluice._native.CallableModel, the base class of sluice.Model and sluice.LoadedModel: their calls
// reach libsluice without a Python function in between.
#pragma once

#include <nanobind/nanobind.h>

namespace sluice::python {

/// Adds the class to the module, after NativeModel's and NativeLoadedModel's. A subclass sets its
/// only attribute, `_native`, to one of these objects. Calling an instance runs that on numpy
/// arrays; a call that `call_arrays` refuses is one of the method `_convert_and_call`, which a
/// subclass has.
void bind_callable_model(nanobind::module_& module);

}  // namespace sluice::python
