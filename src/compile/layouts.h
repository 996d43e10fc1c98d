// In which layout each operand of the main subgraph lies.
#pragma once

#include "compile/assign.h"

namespace sluice::compile {

/// Where an operation's backend prefers another layout of images, gives it that; where operands
/// arrive in that layout, lets operations that take it keep it; puts `sluice::Reorder` where one
/// that does not reads them, one per operand.
///
///     %y = Conv[%x, %w]; %z = Relu[%y]; %f = Flatten[%z]
///     ->  %y@c16 = Conv[%x, %w]; %z@c16 = Relu[%y]; %z' = Reorder[%z]; %f = Flatten[%z']
///
/// Inputs and outputs of the graph stay row-major. Requires: types are inferred. Gives the number
/// of operations that now work in another layout.
Result<int> choose_layouts(ir::Graph& graph, Backends backends);

}  // namespace sluice::compile
