// The compiler for Python.
#pragma once

#include <nanobind/nanobind.h>

namespace sluice::python {

/// compile(model: str | bytes, options: list[str], folder: str, progress) -> bytes of a package.
void bind_compile(nanobind::module_& module);

}  // namespace sluice::python
