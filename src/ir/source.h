// Where operations come from in the program that made the model: "model.py:42 (encoder.layer.3)".
//
// Sources are facts of the graph's metadata, "source.<name of the operation>". Passes keep the name
// of the operation that they rewrite or fuse others into, so its source survives them.
#pragma once

#include <string>
#include <string_view>

#include "ir/graph.h"

namespace sluice::ir {

/// Records the source of the operations of that name. Operations of different sources that share a
/// name (in two branches of an If) get none: a wrong line is worse than no line.
void set_source(Graph& graph, const std::string& operation_name, const std::string& source);

/// Null if it is not known. Lives until the metadata changes.
const std::string* find_source(const Graph& graph, std::string_view operation_name);

/// `operation.describe()`, and the source if it is known: `node "conv1" (Conv), model.py:42`.
std::string describe(const Graph& graph, const Operation& operation);

/// An error whose message names an operation of `subgraph` as Operation::describe does, with the
/// source behind the name if it is known. Shape functions and kernels know nothing of sources.
Status with_source(const Graph& graph, const Subgraph& subgraph, Status status);

/// Drops the sources of names that no operation has any more.
void drop_stale_sources(Graph& graph);

}  // namespace sluice::ir
