// Axes that an attribute lists.
#pragma once

#include <vector>

#include "ops/inference.h"

namespace sluice::ops {

/// The axes of attribute `name`, made non-negative; empty if it is not there.
/// Fails: kInvalidArgument for one outside a tensor of `rank`, or one that stands twice.
Result<std::vector<std::size_t>> axes_attribute(const InferenceContext& context,
                                                std::string_view name, std::size_t rank);

}  // namespace sluice::ops
