// The tactics of an operation: kernels of several texts that compute it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugin/generate/text/source.h"

namespace sluice::cuda {

/// The tactic of a generated kernel where a library would be the default.
inline constexpr std::string_view kGenerated = "generated";

/// The tactic that the operation names; "" if it names none.
std::string_view tactic_of(const sluice_op& op);

/// Names of the tactics whose kernels differ from the default's and from each other. With a
/// library as the default, `has_library`, every generated kernel differs from it. Ignores the
/// tactic that the operation names. Requires: every dimension is known.
std::vector<std::string> list_tactics(const sluice_op& op, bool has_library);

}  // namespace sluice::cuda
