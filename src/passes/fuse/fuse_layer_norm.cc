#include <optional>

#include "passes/fuse/norm_match.h"
#include "passes/rewrites.h"
#include "passes/walk.h"

namespace sluice::passes {
namespace {

struct LayerNorm {
  ir::OperandId x, scale, bias;
  std::int64_t axis = 0;
  double epsilon = 0;
};

/// x and axis of x - mean(x).
std::optional<LayerNorm> match_centred(const Matcher& matcher, ir::OperandId centred) {
  const ir::Operation* difference = matcher.find(centred, "Sub");
  if (difference == nullptr) return std::nullopt;
  const ir::Operation* mean = matcher.find(difference->inputs[1], "ReduceMean");
  if (mean == nullptr || mean->inputs[0] != difference->inputs[0]) return std::nullopt;
  const auto axis = last_axes(matcher.subgraph(), *mean);
  if (!axis) return std::nullopt;
  return LayerNorm{difference->inputs[0], {}, {}, *axis, 0};
}

/// centred / sqrt(mean(centred^2) + epsilon).
std::optional<LayerNorm> match_normal(const Matcher& matcher, ir::OperandId normal) {
  const ir::Operation* quotient = matcher.find(normal, "Div");
  if (quotient == nullptr) return std::nullopt;
  const ir::OperandId centred = quotient->inputs[0];
  const auto root = match_mean_root(matcher, quotient->inputs[1]);
  if (!root || squared_operand(matcher, root->mean->inputs[0]) != centred) return std::nullopt;
  auto found = match_centred(matcher, centred);
  const auto axis = last_axes(matcher.subgraph(), *root->mean);
  // Mean and variance over the same dimensions; any other formula is not a layer normalization.
  if (!found || axis != found->axis) return std::nullopt;
  found->epsilon = root->epsilon;
  return found;
}

/// normal * scale + bias.
std::optional<LayerNorm> match_layer_norm(const Matcher& matcher, const ir::Operation& root) {
  // Addition and multiplication commute, and exporters write both orders: four ways to read the
  // root.
  for (const std::size_t i : {0, 1}) {
    const ir::Operation* scaled = matcher.find(root.inputs[i], "Mul");
    if (scaled == nullptr) continue;
    for (const std::size_t j : {0, 1}) {
      auto found = match_normal(matcher, scaled->inputs[j]);
      if (!found) continue;
      found->scale = scaled->inputs[1 - j];
      found->bias = root.inputs[1 - i];
      if (is_shaped_as_rows(matcher.subgraph(), found->scale, found->x, found->axis) &&
          is_shaped_as_rows(matcher.subgraph(), found->bias, found->x, found->axis)) {
        return found;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

Result<int> fuse_layer_norm(ir::Graph& graph, const PassContext& context) {
  return fuse_roots(
      graph, context, "Add",
      [](const Matcher& matcher, const ir::Operation& root) -> std::optional<ir::Operation> {
        const auto norm = match_layer_norm(matcher, root);
        if (!norm) return std::nullopt;
        return make_operation(
            matcher.subgraph(), "LayerNormalization", {norm->x, norm->scale, norm->bias},
            root.outputs[0],
            {{"axis", norm->axis}, {"epsilon", static_cast<float>(norm->epsilon)}});
      });
}

}  // namespace sluice::passes
