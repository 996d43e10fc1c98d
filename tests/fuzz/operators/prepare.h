// From the text of a graph to operations that kernels can be made of.
#pragma once

#include <map>
#include <string_view>

#include "base/result.h"
#include "ir/graph.h"

namespace sluice::fuzz {

/// A graph whose operations have the newest form and whose inputs have static types and contents.
struct Prepared {
  ir::Graph graph;
  std::map<ir::OperandId, ir::Constant> contents;  ///< of the main subgraph's inputs
  std::uint64_t seed = 0;                          ///< of everything that is chosen by chance
};

/// Parses, upgrades and lowers as an importer does, but leaves attributes that the operator does
/// not have: a kernel must be safe from them, too. Equal texts give equal results. Fails: for texts
/// that are no graph, and graphs that no importer makes.
Result<Prepared> prepare(std::string_view text);

/// Makes inputs of all constants of the main subgraph, with the same contents.
void move_constants_to_inputs(Prepared& prepared);

}  // namespace sluice::fuzz
