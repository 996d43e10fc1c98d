// The extension sluice._native: libsluice and libsluice_compiler for Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <sluice/operators.hpp>
#include <sluice/sluice.h>

#include "callable_model.h"
#include "calls/cancellation.h"
#include "calls/errors.h"
#include "calls/process.h"
#include "compile.h"
#include "language.h"
#include "loaded_model.h"
#include "log_events.h"
#include "model.h"
#include "replies.h"
#include "runtime.h"
#include "session.h"
#include "tensors.h"

namespace nb = nanobind;

namespace {

/// Bytes at an address of a multiple of 64, which libsluice reads and writes in place.
nb::object aligned_bytes(std::int64_t size_bytes) {
  if (size_bytes < 0) {
    throw sluice::python::Failure(sluice::Code::kInvalidArgument, "a size below 0");
  }
  sluice::python::OutputTensor output;
  output.memory = sluice::python::allocate(size_bytes);
  output.size_bytes = size_bytes;
  output.element_type = sluice::python::kByteElements;
  output.dims = {size_bytes};
  return sluice::python::to_python(std::move(output));
}

void allow_operators(const std::string& sha256) {
  if (const auto error = sluice::allow_operators(sha256)) {
    throw sluice::python::Failure(error->code, error->message);
  }
}

}  // namespace

NB_MODULE(_native, module) {
  // A model that another package keeps until the process ends, as torch.compile does, is no leak.
  nb::set_leak_warnings(false);
  sluice::python::watch_forks();
  sluice::python::register_errors();
  sluice::python::bind_cancellation(module);
  sluice::python::bind_kept_states(module);
  sluice::python::bind_model(module);
  sluice::python::bind_language(module);
  sluice::python::bind_compile(module);
  sluice::python::bind_replies(module);
  sluice::python::bind_log_events(module);
  sluice::python::bind_loaded_model(module);
  sluice::python::bind_callable_model(module);
  sluice::python::bind_runtime(module);
  sluice::python::bind_queues(module);
  sluice::python::bind_session(module);
  module.def("version", &sluice_version);
  module.def("aligned_bytes", &aligned_bytes, nb::arg("size_bytes"));
  module.def("allow_operators", &allow_operators, nb::arg("sha256"),
             "Lets this process run the code of the module of operators with this SHA-256, 64 "
             "hexadecimal digits, when it opens or loads a package that carries it.");
  module.def("end_calls", &sluice::python::end_calls, nb::call_guard<nb::gil_scoped_release>(),
             "Refuses calls from now on and waits for those under way.");
}
