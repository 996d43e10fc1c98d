// A stage: the longest run of steps whose shapes are all known before it starts.
//
// A model of static shapes is one stage. Where a shape depends on computed data (the result of
// NonZero, a Reshape to computed dimensions) a stage ends, and the next is planned from what the
// run has found by then.
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
  std::size_t begin = 0;  ///< places in the main subgraph's order
  std::size_t end = 0;
  /// Operands whose integers must be read from memory before the next stage can be planned.
  std::vector<ir::OperandId> wanted_values;
  /// The last step's outputs are upper bounds: read their actual dimensions after the run.
  bool has_data_dependent_end = false;
};

/// Extends `facts` from place `begin` as far as shapes can be known.
///
/// Fails: whatever a shape function objects to; kInvalidArgument where a shape cannot be known
///        although every value it needs is there.
Result<Stage> plan_stage(const ir::Graph& graph, std::size_t begin, ops::SubgraphFacts& facts);

/// Facts before the first stage: constants' types and small values.
ops::SubgraphFacts initial_facts(const ir::Subgraph& main);

}  // namespace sluice::exec
