// Sessions and queues, as sluice/session.h has them: a package whose tensors have sources and
// sinks, and rings of memory for the tensors of a loaded model.
#pragma once

#include <nanobind/nanobind.h>

namespace sluice::python {

void bind_session(nanobind::module_& module);
void bind_queues(nanobind::module_& module);

}  // namespace sluice::python
