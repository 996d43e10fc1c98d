// Whether requests may share a run: each row of the outputs depends on its row of the inputs alone.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace sluice::ops {

/// Proves that dimension 0 of every input is carried row by row, through every operation of the
/// main subgraph, to dimension 0 of every output: a row's result depends neither on other rows, nor
/// on its place among them, nor on how many there are. Infers all types anew and trusts none that
/// the graph declares. Linear in operations.
///
/// Requires: a graph that the verifier accepts.
/// Fails:    kInvalidArgument    a sentence without a subject: "node "r" (ReduceSum) mixes rows:
///                               ..."; for an operation without a rule, too
Status prove_rows(const ir::Graph& graph);

}  // namespace sluice::ops
