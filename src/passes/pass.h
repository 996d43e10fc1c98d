// The definition of a pass, and the functions that its caller provides.
//
// A pass rewrites a graph without changing what it computes. Before and after it the graph is
// well-formed (ir::verify), its operations are normalized (ops/schema.h) and its types inferred;
// operands and operations that nothing reads may be left over for `dead_code`.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"

namespace sluice::passes {

/// Computes an operation whose present inputs are all constants of the subgraph; gives a constant
/// per output. An operation for which it fails stays in the graph.
using Evaluator =
    std::function<Result<std::vector<ir::Constant>>(const ir::Subgraph&, const ir::Operation&)>;

/// Whether a backend accepts this operation with its fused body. The operation need not be in the
/// subgraph's order; its operands belong to the subgraph and have types.
using Acceptance = std::function<bool(const ir::Graph&, const ir::Subgraph&, const ir::Operation&)>;

/// Sees the graph after a pass that changed it. An error ends the run of passes.
using Observer = std::function<Status(std::string_view pass, const ir::Graph&)>;

struct PassContext {
  Evaluator evaluate;  ///< null: nothing is computed
  Acceptance accepts;  ///< null: everything is accepted
  /// Whether a backend has a kernel of its own for an operation, not a generic one. Null: none has.
  Acceptance has_kernel;
  /// Whether the first backend that accepts an operation has a kernel of its own for it: then the
  /// backend that has it now keeps it. Null: none has.
  Acceptance taker_has_kernel;
  /// Whether the backend that takes an operation computes its 16-bit floats as fast as 32-bit ones.
  /// Null: none does.
  Acceptance native_halves;
  Observer observe;  ///< may be null

  bool is_accepted(const ir::Graph& graph, const ir::Subgraph& subgraph,
                   const ir::Operation& operation) const {
    return !accepts || accepts(graph, subgraph, operation);
  }
};

/// Gives the number of rewrites.
using PassFn = Result<int> (*)(ir::Graph& graph, const PassContext& context);

struct Pass {
  std::string_view name;  ///< as in golden tests and reports
  std::string_view doc;   ///< one line
  PassFn run;
};

/// All passes in the order of the default pipeline; some appear more than once.
std::span<const Pass> default_pipeline();

/// The first part of the default pipeline: simplification, with no fusion except batch
/// normalization.
std::span<const Pass> plain_pipeline();

/// Runs before the pipeline, and without one.
const Pass& random_state_pass();

/// Runs after the pipeline if the user accepts less exact products.
const Pass& rounded_weights_pass();
const Pass& byte_products_pass();
/// Runs after the pipeline if convolutions must be computed as direct sums.
const Pass& direct_convolutions_pass();
/// Runs after the pipeline if products may use Strassen's method, with `levels` (1 or 2) of
/// recursion.
const Pass& strassen_pass(int levels);

/// Every pass, once.
std::vector<const Pass*> all_passes();

/// Null for an unknown name.
const Pass* find_pass(std::string_view name);

}  // namespace sluice::passes
