// Which device a state of a context may stay on.
#pragma once

#include <cstddef>
#include <optional>

#include "exec/model_state.h"

namespace sluice::exec {

/// The group of all kernels that use a state, if its device has memory of its own and one of the
/// kernels changes the state in place. nullopt: the state lies in the caller's memory between runs.
std::optional<std::size_t> group_of_state(const ModelState& model, const SubgraphCode& code,
                                          const RangePlan& plan, StatePair pair);

}  // namespace sluice::exec
