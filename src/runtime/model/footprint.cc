#include "runtime/model/footprint.h"

#include <set>

namespace sluice::runtime {
namespace {

/// Operands that share bytes count once.
std::int64_t constants_of(const ir::Graph& graph) {
  std::set<const std::byte*> seen;
  std::int64_t total = 0;
  for (std::size_t s = 0; s < graph.num_subgraphs(); ++s) {
    const ir::Subgraph& subgraph = graph.subgraph(ir::SubgraphId(s));
    for (std::size_t i = 0; i < subgraph.num_operands(); ++i) {
      const ir::Constant* constant = subgraph.find_constant(ir::OperandId(i));
      if (constant == nullptr || !seen.insert(constant->data.data()).second) continue;
      total += static_cast<std::int64_t>(constant->data.size());
    }
  }
  return total;
}

}  // namespace

terms::Footprint estimate_footprint(const package::Executable& executable, std::int32_t depth) {
  terms::Footprint footprint;
  footprint.depth = depth;
  footprint.constants_bytes = constants_of(executable.graph);
  for (const package::PackedConstant& packed : executable.packed) {
    footprint.packed_bytes += static_cast<std::int64_t>(packed.data.size());
  }
  footprint.is_context_known = executable.plan.has_value();
  if (executable.plan) footprint.context_bytes += executable.plan->arena_bytes;
  for (const terms::TensorSpec& spec : package::signature_of(executable.graph).outputs) {
    footprint.context_bytes += ir::storage_bytes(spec.type).value_or(0);
  }
  return footprint;
}

}  // namespace sluice::runtime
