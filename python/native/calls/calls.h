// Calls of the C interface from Python: without the GIL, with errors as exceptions.
#pragma once

#include <nanobind/nanobind.h>
#include <sluice/runtime.h>

#include <memory>

#include "calls/errors.h"
#include "calls/process.h"

namespace sluice::python {

/// Calls `function` without the GIL. Refused once the interpreter ends.
template <typename Function>
auto without_gil(Function function) {
  const NativeCall call;
  const nanobind::gil_scoped_release released;
  return function();
}

struct ReleaseSnapshot {
  void operator()(const void* object) const { sluice_release(object); }
};

/// A description that libsluice made.
template <typename T>
using Snapshot = std::unique_ptr<const T, ReleaseSnapshot>;

/// The description that `function`, a call of the C interface, writes to its argument.
template <typename T, typename Function>
Snapshot<T> snapshot(Function function) {
  const T* made = nullptr;
  without_gil([&] { check(function(&made)); });
  return Snapshot<T>(made);
}

}  // namespace sluice::python
