// Mutations of operations: attributes, versions, operand types, shapes and constants.
#pragma once

#include "fuzz/operators/values.h"
#include "ir/graph.h"

namespace sluice::fuzz {

/// Changes attributes, version, operands, types, shapes or constants of an operation of the main
/// subgraph, or puts another operator in its place.
void mutate(ir::Graph& graph, Random& random);

/// A graph of one operation, any of the operator table, with operands that may fit it.
ir::Graph random_operation(Random& random);

}  // namespace sluice::fuzz
