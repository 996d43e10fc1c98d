#include <optional>

#include "passes/fuse/norm_match.h"
#include "passes/rewrites.h"
#include "passes/walk.h"

namespace sluice::passes {
namespace {

struct RmsNorm {
  ir::OperandId x, scale;
  std::int64_t axis = 0;
  double epsilon = 0;
};

/// Reads sqrt(mean(x^2) + epsilon).
std::optional<RmsNorm> match_root(const Matcher& matcher, ir::OperandId id) {
  const auto root = match_mean_root(matcher, id);
  if (!root) return std::nullopt;
  const auto axis = last_axes(matcher.subgraph(), *root->mean);
  const ir::OperandId x = squared_operand(matcher, root->mean->inputs[0]);
  if (!axis || !x.is_valid()) return std::nullopt;
  return RmsNorm{x, {}, *axis, root->epsilon};
}

/// Reads x / root or x * (1 / root).
std::optional<RmsNorm> match_quotient(const Matcher& matcher, ir::OperandId id) {
  if (const ir::Operation* quotient = matcher.find(id, "Div")) {
    const auto found = match_root(matcher, quotient->inputs[1]);
    return found && found->x == quotient->inputs[0] ? found : std::nullopt;
  }
  const ir::Operation* product = matcher.find(id, "Mul");
  // A product commutes, so the inverse may be on either side.
  for (const std::size_t i : {0, 1}) {
    const ir::Operation* inverse =
        product ? matcher.find(product->inputs[i], "Reciprocal") : nullptr;
    const auto found = inverse ? match_root(matcher, inverse->inputs[0]) : std::nullopt;
    if (found && found->x == product->inputs[1 - i]) return found;
  }
  return std::nullopt;
}

std::optional<RmsNorm> match_rms_norm(const Matcher& matcher, const ir::Operation& root) {
  for (const std::size_t i : {0, 1}) {
    auto found = match_quotient(matcher, root.inputs[i]);
    if (!found) continue;
    found->scale = root.inputs[1 - i];
    if (is_shaped_as_rows(matcher.subgraph(), found->scale, found->x, found->axis)) return found;
  }
  return std::nullopt;
}

}  // namespace

Result<int> fuse_rms_norm(ir::Graph& graph, const PassContext& context) {
  return fuse_roots(
      graph, context, "Mul",
      [](const Matcher& matcher, const ir::Operation& root) -> std::optional<ir::Operation> {
        const auto norm = match_rms_norm(matcher, root);
        if (!norm) return std::nullopt;
        return make_operation(
            matcher.subgraph(), "RMSNormalization", {norm->x, norm->scale}, root.outputs[0],
            {{"axis", norm->axis}, {"epsilon", static_cast<float>(norm->epsilon)}});
      });
}

}  // namespace sluice::passes
