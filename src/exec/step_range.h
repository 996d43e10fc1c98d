// A step range: consecutive steps whose shapes are all known before the first of them runs.
//
// A model of static shapes is one range. A range ends where a shape depends on computed data (the
// result of NonZero, a Reshape to computed dimensions) and after each step that the executor runs
// itself (control flow, sequences). The next range is planned during the run, from the shapes and
// values computed so far.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "exec/facts/facts.h"
#include "ir/graph.h"

namespace sluice::exec {

struct StepRange {
  std::size_t begin = 0;  ///< positions in the subgraph's order
  std::size_t end = 0;
  /// Operands whose integers must be read from memory before the next range can be planned.
  std::vector<ir::OperandId> wanted_values;
  /// The planned dimensions of the last step's outputs are upper bounds; the kernel writes the
  /// actual ones.
  bool has_data_dependent_end = false;
  /// The executor runs the last step itself; the types of its results are known after the run.
  bool has_executor_end = false;
};

/// A range planned before, from the same position, for similar shapes.
struct SimilarRange {
  const StepRange& range;
  const Facts& facts;  ///< after the range
};

/// Extends `facts` from position `begin` as far as shapes can be known. Steps whose inputs have the
/// same facts as those of `similar`, which may be null, take over its results: their shape
/// functions do not run.
///
/// Fails: errors of shape functions; kInvalidArgument if a shape stays unknown although all values
///        it depends on are known.
Result<StepRange> plan_range(const ir::Graph& graph, const ir::Subgraph& subgraph,
                             std::size_t begin, Facts& facts,
                             const SimilarRange* similar = nullptr);

/// Types of a subgraph's outputs for inputs of these facts, without a run. Never an error: results
/// that shape functions cannot tell have dimensions that are symbols, or their declared types.
std::vector<ir::Type> infer_without_run(const ir::Graph& graph, ir::SubgraphId id,
                                        std::span<const ops::OperandFacts> inputs);

/// Facts before the first range: constants' types and small values.
Facts initial_facts(const ir::Subgraph& subgraph);

}  // namespace sluice::exec
