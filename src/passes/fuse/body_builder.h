// Makes the element-wise program of a fused operation out of operations of a subgraph.
#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"

namespace sluice::passes {

/// `steps` in execution order; the last one's result is the body's. `own_result` is the operand
/// that becomes the operation's own result, invalid for sluice::Elementwise. Constants of one
/// element move into the body; other outside operands become its inputs.
struct BodyParts {
  ir::Subgraph program;
  std::vector<ir::OperandId> inputs;  ///< of ir::Body
};
BodyParts build_body(const ir::Subgraph& subgraph, std::span<const ir::OperationId> steps,
                     ir::OperandId own_result);

}  // namespace sluice::passes
