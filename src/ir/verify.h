// Is a graph well-formed? What every pass may rely on, and must leave true.
#pragma once

#include "base/result.h"
#include "ir/graph.h"

namespace sluice::ir {

/// Checks that
///   - operand and subgraph ids exist; subgraphs do not contain themselves, nest at most 64 deep,
///     and control flow runs each from one operation;
///   - an operand is an input, a constant or an output of one operation, and stands before its
///     readers; names are unique within a subgraph;
///   - inputs and outputs of the main subgraph have types;
///   - a constant's type is static and its bytes are as many as the type needs;
///   - a body takes the operation's result and `inputs` (only `inputs` for sluice::Elementwise),
///     gives one operand, and its operations have one output and no subgraph of their own.
///
/// Says nothing about operators: those are the table's, in src/ops. Reads each operand a constant
/// number of times.
/// Fails: kInvalidArgument naming the subgraph, and the node or operand.
Status verify(const Graph& graph);

/// The part that is about one constant; for readers of files.
Status verify_constant(const Constant& constant);

}  // namespace sluice::ir
