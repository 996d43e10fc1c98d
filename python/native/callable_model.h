// sluice._native.CallableModel, the base class of sluice.Model: its calls reach libsluice without a
// Python function in between.
#pragma once

#include <nanobind/nanobind.h>

namespace sluice::python {

/// Adds the class to the module, after NativeModel's. It has one attribute, `_native`, which a
/// subclass sets to a NativeModel. Calling an instance runs that on numpy arrays; a call that
/// NativeModel::call_arrays refuses is one of the method `_convert_and_call`, which a subclass has.
void bind_callable_model(nanobind::module_& module);

}  // namespace sluice::python
