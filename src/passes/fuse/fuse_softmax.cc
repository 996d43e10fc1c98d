#include "passes/match.h"
#include "passes/rewrites.h"
#include "passes/walk.h"

namespace sluice::passes {
namespace {

/// The one axis that a reduction with kept dimensions reduces.
std::optional<std::int64_t> reduced_axis(const ir::Subgraph& subgraph, const ir::Operation& op) {
  const auto axis = scalar_value(subgraph, op.input(1));
  if (!axis || op.attributes.get_or("keepdims", std::int64_t{1}) == 0) return std::nullopt;
  const auto whole = static_cast<std::int64_t>(*axis);
  const ir::Shape* shape = subgraph.operand(op.inputs[0]).type.shape();
  if (shape == nullptr) return std::nullopt;
  return whole < 0 ? whole + static_cast<std::int64_t>(shape->size()) : whole;
}

struct Softmax {
  ir::OperandId x;
  std::int64_t axis = 0;
};

std::optional<Softmax> match_softmax(const Matcher& matcher, const ir::Operation& root) {
  const ir::OperandId powers = root.inputs[0];
  const ir::Operation* exp = matcher.find(powers, "Exp");
  const ir::Operation* sum = matcher.find(root.inputs[1], "ReduceSum");
  const ir::Operation* less = exp ? matcher.find(exp->inputs[0], "Sub") : nullptr;
  const ir::Operation* most = less ? matcher.find(less->inputs[1], "ReduceMax") : nullptr;
  if (sum == nullptr || most == nullptr || sum->inputs[0] != powers ||
      most->inputs[0] != less->inputs[0]) {
    return std::nullopt;
  }
  const auto axis = reduced_axis(matcher.subgraph(), *sum);
  if (!axis || reduced_axis(matcher.subgraph(), *most) != axis) return std::nullopt;
  return Softmax{less->inputs[0], *axis};
}

}  // namespace

Result<int> fuse_softmax(ir::Graph& graph, const PassContext& context) {
  return fuse_roots(
      graph, context, "Div",
      [](const Matcher& matcher, const ir::Operation& root) -> std::optional<ir::Operation> {
        const auto softmax = match_softmax(matcher, root);
        if (!softmax) return std::nullopt;
        return make_operation(matcher.subgraph(), "Softmax", {softmax->x}, root.outputs[0],
                              {{"axis", softmax->axis}});
      });
}

}  // namespace sluice::passes
