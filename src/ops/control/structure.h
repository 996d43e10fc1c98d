// How the operands of a control-flow operation map to those of its subgraphs.
//
// Its last inputs, as many as the attribute "captures" says, are the outer operands that its
// subgraphs read. The last inputs of every subgraph correspond to them.
#pragma once

#include "base/result.h"
#include "ir/graph.h"

namespace sluice::ops {

/// Number of inputs before the captures.
/// Requires: `check_structure` succeeded.
std::size_t num_own_inputs(const ir::Operation& operation);

/// Loop: inputs are trip count, condition, carried values; its body takes iteration number,
/// condition, carried values, and gives condition, carried values, scan outputs.
struct LoopOperands {
  std::size_t num_carried = 0;
  std::size_t num_scan_outputs = 0;
};
LoopOperands loop_operands(const ir::Graph& graph, const ir::Operation& operation);

/// Scan: inputs are states, then scan inputs; its body takes states and elements of the scan
/// inputs, and gives states and elements of the scan outputs. Version 8 has the lengths of a
/// batch's sequences as its first input.
struct ScanOperands {
  bool is_batched = false;
  std::size_t first_state = 0;  ///< input of the operation
  std::size_t num_states = 0;
  std::size_t num_scan_inputs = 0;
  std::size_t num_scan_outputs = 0;
};
ScanOperands scan_operands(const ir::Graph& graph, const ir::Operation& operation);

/// Checks that the subgraphs of an operation exist and take and give as many operands as it passes
/// and expects. Operators that run none capture nothing.
/// Fails: kInvalidArgument naming the node.
Status check_structure(const ir::Graph& graph, const ir::Operation& operation);

/// The main subgraph and those that control flow runs, without bodies of fused operations; outer
/// ones first.
/// Requires: subgraph ids in range.
std::vector<ir::SubgraphId> runnable_subgraphs(const ir::Graph& graph);

}  // namespace sluice::ops
