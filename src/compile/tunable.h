// The operations of an executable that can be computed in several ways.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "compile/assign.h"
#include "ir/graph.h"
#include "package/executable.h"

namespace sluice::compile {

struct OperationPlace {
  std::size_t subgraph = 0;
  std::size_t place = 0;  ///< in its order

  auto operator<=>(const OperationPlace&) const = default;
};

/// Operations that are alike but for the values of their constants: one choice for all.
struct TunableGroup {
  std::string text;  ///< "Conv+Relu [1,64,56,56] [64,64,3,3]"
  std::vector<OperationPlace> members;
  /// Values of `sluice_variant`, "" for the backend's own choice; the first is what they have.
  std::vector<std::string> ways;
};

/// The groups with more than one way for `num_cores` cores. `graph` is the executable's, with all
/// types inferred from inputs of known shapes; operations whose shapes it leaves open are not
/// asked about. `backends[i]` runs what `executable.backend_of` gives to i.
/// Fails: what backends report.
Result<std::vector<TunableGroup>> find_tunable(const package::Executable& executable,
                                               const ir::Graph& graph, Backends backends,
                                               int num_cores);

/// What tells operations apart beyond values of constants and `sluice_variant`: kind, attributes,
/// element types, shapes, layouts, which operands are constant, and the fused body.
std::string key_of(const sluice_op& op);

}  // namespace sluice::compile
