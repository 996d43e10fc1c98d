// Recognizes element-wise functions of one tensor.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "passes/match.h"

namespace sluice::passes {

/// A function of one operand and constants.
struct ElementwiseFunction {
  ir::OperandId source = {};
  std::vector<ir::OperationId> operations = {};  ///< in an order in which they can run
};

/// Whether an operation computes each element of its only output from elements of its inputs.
bool is_elementwise(const ir::Operation& operation);

/// Reads `id` as a function of the only operand that `is_source` accepts, computed by at most
/// sixteen operations that `is_step` accepts. nullopt if `id` is itself such an operand, or depends
/// on several or none of them.
std::optional<ElementwiseFunction> read_function(
    const Matcher& matcher, ir::OperandId id, const std::function<bool(ir::OperandId)>& is_source,
    const std::function<bool(const ir::Operation&)>& is_step);

}  // namespace sluice::passes
