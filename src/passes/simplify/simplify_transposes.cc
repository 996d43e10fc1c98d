#include <algorithm>
#include <optional>

#include "passes/match.h"
#include "passes/rewrites.h"
#include "passes/walk.h"

namespace sluice::passes {
namespace {

using Permutation = std::vector<std::int64_t>;

const Permutation* permutation_of(const ir::Operation& transpose) {
  return transpose.attributes.find<Permutation>("perm");
}

/// Two transposes in a row are one.
bool join_with_producer(const Matcher& matcher, ir::Operation& transpose) {
  const ir::Operation* first = matcher.find(transpose.inputs[0], "Transpose");
  const Permutation* outer = permutation_of(transpose);
  const Permutation* inner = first ? permutation_of(*first) : nullptr;
  if (inner == nullptr || outer == nullptr || inner->size() != outer->size()) return false;
  Permutation joined;
  // outer (inner x): axis i of the result is axis outer[i] of the middle, axis inner[outer[i]] of x
  for (const std::int64_t axis : *outer) {
    joined.push_back((*inner)[static_cast<std::size_t>(axis)]);
  }
  transpose.inputs[0] = first->inputs[0];
  transpose.attributes.set("perm", std::move(joined));
  return true;
}

/// Whether all dimensions other than 1 keep their order.
bool keeps_order(const ir::Shape& shape, const Permutation& permutation) {
  std::int64_t last = -1;
  for (const std::int64_t axis : permutation) {
    if (shape[static_cast<std::size_t>(axis)].is(1)) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

/// The shape as a Reshape's target; nullopt if more than one dimension is symbolic.
std::optional<std::vector<std::int64_t>> reshape_target(const ir::Shape& shape) {
  // A Reshape would take 0 for "as in the input".
  std::vector<std::int64_t> target;
  for (const ir::Dim& dim : shape) {
    if (dim.is(0)) return std::nullopt;
    target.push_back(dim.is_known() ? dim.value() : -1);
  }
  if (std::count(target.begin(), target.end(), -1) > 1) return std::nullopt;
  return target;
}

bool replace_by_reshape(ir::Subgraph& subgraph, ir::OperationId at) {
  const ir::Operation& transpose = subgraph.operation(at);
  const ir::Shape* from = subgraph.operand(transpose.inputs[0]).type.shape();
  const ir::Shape* to = subgraph.operand(transpose.outputs[0]).type.shape();
  const Permutation* permutation = permutation_of(transpose);
  if (from == nullptr || to == nullptr || permutation == nullptr ||
      permutation->size() != from->size() || !keeps_order(*from, *permutation)) {
    return false;
  }
  const auto target = reshape_target(*to);
  if (!target) return false;
  const auto rank = static_cast<std::int64_t>(target->size());
  const ir::OperandId shape = subgraph.add_constant("", ir::make_i64_constant(*target, {rank}));
  ir::Operation reshape =
      make_operation(subgraph, "Reshape", {transpose.inputs[0], shape}, transpose.outputs[0]);
  reshape.name = transpose.name;
  subgraph.operation(at) = std::move(reshape);
  return true;
}

}  // namespace

Result<int> simplify_transposes(ir::Graph& graph, const PassContext& /*context*/) {
  return rewrite_operations(graph,
                            [](ir::Subgraph& subgraph, const Matcher& matcher, ir::OperationId at) {
                              ir::Operation& transpose = subgraph.operation(at);
                              if (!transpose.is("Transpose") || transpose.body) return false;
                              const bool is_joined = join_with_producer(matcher, transpose);
                              // Both may apply: a joined transpose may turn out to move nothing.
                              return replace_by_reshape(subgraph, at) || is_joined;
                            });
}

}  // namespace sluice::passes
