// The layout in which each operand of the main subgraph lies.
#pragma once

#include "compile/placement.h"

namespace sluice::compile {

/// Gives operations the image layout that their backend, the first of `placement`, prefers.
/// Operations that accept the layout of their operands keep it. Other readers get a
/// `sluice::Reorder`, one per operand.
///
///     %y = Conv[%x, %w]; %z = Relu[%y]; %f = Flatten[%z]
///     ->  %y@c16 = Conv[%x, %w]; %z@c16 = Relu[%y]; %z' = Reorder[%z]; %f = Flatten[%z']
///
/// Inputs and outputs of the graph stay row-major.
/// Requires: types are inferred. Gives the number of operations that now work in another layout.
Result<int> choose_layouts(ir::Graph& graph, const Placement& placement);

}  // namespace sluice::compile
