// Whether requests for a model may share a run.
#pragma once

#include "base/status.h"
#include "package/executable.h"

namespace sluice::exec {

/// Derived from the graph, so that it holds for packages of any version and trusts none: as
/// ops::prove_rows. Takes about as long as planning the model once.
/// Fails: kInvalidArgument naming the operation that mixes rows, or of which nothing is known.
Status prove_rows(const package::Executable& executable);

}  // namespace sluice::exec
