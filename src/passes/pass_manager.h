// Runs passes in order.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "passes/pass.h"

namespace sluice::passes {

/// The effect of one run of a pass.
struct PassReport {
  std::string_view name;
  int num_rewrites = 0;
  std::size_t operations_before = 0;  ///< of the main subgraph
  std::size_t operations_after = 0;
  std::int64_t time_ns = 0;
};

/// Runs each pass once. Builds with asserts verify the graph after each.
/// Fails with an error that names the pass; the graph is then unusable.
Result<std::vector<PassReport>> run_passes(ir::Graph& graph, std::span<const Pass> passes,
                                           const PassContext& context);

}  // namespace sluice::passes
