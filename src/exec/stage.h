// A stage: the longest run of steps whose shapes are all known before it starts.
//
// A model of static shapes is one stage. Where a shape depends on computed data (the result of
// NonZero, a Reshape to computed dimensions) a stage ends, and the next is planned from what the
// run has found by then. It ends after a step of the executor's own too: control flow, sequences.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"
#include "ops/inference.h"

namespace sluice::exec {

struct Stage {
  std::size_t begin = 0;  ///< places in the subgraph's order
  std::size_t end = 0;
  /// Operands whose integers must be read from memory before the next stage can be planned.
  std::vector<ir::OperandId> wanted_values;
  /// The last step's outputs are upper bounds: read their actual dimensions after the run.
  bool has_data_dependent_end = false;
  /// The last step is the executor's own; its results' types are what it says after it ran.
  bool has_executor_end = false;
};

/// Extends `facts` from place `begin` as far as shapes can be known.
///
/// Fails: whatever a shape function objects to; kInvalidArgument where a shape cannot be known
///        although every value it needs is there.
Result<Stage> plan_stage(const ir::Graph& graph, const ir::Subgraph& subgraph, std::size_t begin,
                         ops::SubgraphFacts& facts);

/// Facts before the first stage: constants' types and small values.
ops::SubgraphFacts initial_facts(const ir::Subgraph& subgraph);

}  // namespace sluice::exec
