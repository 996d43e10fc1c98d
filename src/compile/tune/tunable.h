// The operations of an executable that have several tactics.
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "compile/assign.h"
#include "ir/graph.h"
#include "package/executable.h"

namespace sluice::compile {

struct OperationPosition {
  std::size_t subgraph = 0;
  std::size_t position = 0;  ///< in its order

  auto operator<=>(const OperationPosition&) const = default;
};

/// Operations that differ in the values of their constants only: they share one tactic.
struct TunableGroup {
  std::string text;  ///< "Conv+Relu [1,64,56,56] [64,64,3,3]"
  std::vector<OperationPosition> members;
  /// Values of `sluice_variant`, "" for the backend's default; the first is the current one.
  std::vector<std::string> tactics;
};

/// The groups with more than one tactic for `num_cores` cores, or all of a device that has fewer.
/// `graph` is the executable's, with all types inferred from inputs of known shapes; operations of
/// unknown shapes are skipped. `backends[i]` runs the operations with `executable.backend_of` == i.
/// Fails: what backends report.
Result<std::vector<TunableGroup>> find_tunable(const package::Executable& executable,
                                               const ir::Graph& graph, Backends backends,
                                               int num_cores);

}  // namespace sluice::compile
