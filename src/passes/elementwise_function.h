// What is computed of one tensor, element by element.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "passes/match.h"

namespace sluice::passes {

/// Of one operand and numbers.
struct ElementwiseFunction {
  ir::OperandId source = {};
  std::vector<ir::OperationId> operations = {};  ///< in an order in which they can run
};

/// Whether an operation computes each element of its only output from elements of its inputs.
bool is_elementwise(const ir::Operation& operation);

/// What `id` is of the only operand for which `is_source`, by at most sixteen operations for which
/// `is_step`. None where it is of several operands, of none, or itself one.
std::optional<ElementwiseFunction> read_function(
    const Matcher& matcher, ir::OperandId id, const std::function<bool(ir::OperandId)>& is_source,
    const std::function<bool(const ir::Operation&)>& is_step);

}  // namespace sluice::passes
