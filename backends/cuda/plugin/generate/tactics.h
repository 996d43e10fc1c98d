// The tactics of an operation: kernels of several texts that compute it.
#pragma once

#include <string>
#include <vector>

#include "sluice/backend.h"

namespace sluice::cuda {

/// Names of the tactics whose kernels differ from the default's and from each other. With a
/// library as the default, `has_library`, every generated kernel differs from it. Ignores the
/// tactic that the operation names. Requires: every dimension is known.
std::vector<std::string> list_tactics(const sluice_op& op, bool has_library);

}  // namespace sluice::cuda
