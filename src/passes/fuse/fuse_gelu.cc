#include <cmath>

#include "passes/match.h"
#include "passes/rewrites.h"
#include "passes/walk.h"

namespace sluice::passes {
namespace {

const double kSqrtTwo = std::sqrt(2.0);
const double kSqrtTwoOverPi = std::sqrt(2.0 / 3.14159265358979323846);

/// x of x / sqrt(2), written as a quotient or a product.
ir::OperandId undivided(const Matcher& matcher, ir::OperandId id) {
  const ir::OperandId x = matcher.without_number(id, "Div", kSqrtTwo);
  return x.is_valid() ? x : matcher.without_number(id, "Mul", 1 / kSqrtTwo);
}

/// x of 1 + erf(x / sqrt(2)).
ir::OperandId exact_gate(const Matcher& matcher, ir::OperandId id) {
  const ir::Operation* erf = matcher.find(matcher.without_number(id, "Add", 1), "Erf");
  return erf != nullptr ? undivided(matcher, erf->inputs[0]) : ir::OperandId();
}

/// x of x^3, or of (x * x) * x.
ir::OperandId uncubed(const Matcher& matcher, ir::OperandId id) {
  const ir::OperandId x = matcher.without_number(id, "Pow", 3);
  if (x.is_valid()) return x;
  const ir::Operation* product = matcher.find(id, "Mul");
  if (product == nullptr) return {};
  for (const std::size_t i : {0, 1}) {
    const ir::OperandId other = product->inputs[1 - i];
    const ir::OperandId square_of = matcher.without_number(product->inputs[i], "Pow", 2);
    if (square_of.is_valid() && square_of == other) return other;
    const ir::Operation* square = matcher.find(product->inputs[i], "Mul");
    if (square != nullptr && square->inputs[0] == other && square->inputs[1] == other) {
      return other;
    }
  }
  return {};
}

/// x of 1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)).
ir::OperandId tanh_gate(const Matcher& matcher, ir::OperandId id) {
  const ir::Operation* tanh = matcher.find(matcher.without_number(id, "Add", 1), "Tanh");
  if (tanh == nullptr) return {};
  const ir::Operation* sum =
      matcher.find(matcher.without_number(tanh->inputs[0], "Mul", kSqrtTwoOverPi), "Add");
  if (sum == nullptr) return {};
  for (const std::size_t i : {0, 1}) {
    const ir::OperandId x = sum->inputs[1 - i];
    const ir::OperandId cube = matcher.without_number(sum->inputs[i], "Mul", 0.044715);
    if (cube.is_valid() && uncubed(matcher, cube) == x) return x;
  }
  return {};
}

struct Gelu {
  ir::OperandId x;
  bool is_exact = true;
};

/// The factors of a product of x, 1/2 and a gate, in whatever order they are multiplied: looks
/// through one more product.
Gelu match_gelu(const Matcher& matcher, const ir::Operation& root) {
  const auto gate_of = [&](ir::OperandId id) -> Gelu {
    const ir::OperandId exact = exact_gate(matcher, id);
    return exact.is_valid() ? Gelu{exact, true} : Gelu{tanh_gate(matcher, id), false};
  };
  if (const auto halved = matcher.with_number(root); halved && halved->second == 0.5) {
    const ir::Operation* inner = matcher.find(halved->first, "Mul");  // (x * gate) * 1/2
    if (inner == nullptr) return {};
    for (const std::size_t i : {0, 1}) {
      const Gelu gelu = gate_of(inner->inputs[i]);
      if (gelu.x.is_valid() && gelu.x == inner->inputs[1 - i]) return gelu;
    }
    return {};
  }
  for (const std::size_t i : {0, 1}) {
    const ir::OperandId other = root.inputs[1 - i];
    const Gelu gelu = gate_of(root.inputs[i]);  // (x * 1/2) * gate
    if (gelu.x.is_valid() && matcher.without_number(other, "Mul", 0.5) == gelu.x) return gelu;
    const Gelu half = gate_of(matcher.without_number(root.inputs[i], "Mul", 0.5));
    if (half.x.is_valid() && half.x == other) return half;  // x * (gate * 1/2)
  }
  return {};
}

}  // namespace

Result<int> fuse_gelu(ir::Graph& graph, const PassContext& context) {
  return fuse_roots(
      graph, context, "Mul",
      [](const Matcher& matcher, const ir::Operation& root) -> std::optional<ir::Operation> {
        const Gelu gelu = match_gelu(matcher, root);
        if (!gelu.x.is_valid()) return std::nullopt;
        const std::string form = gelu.is_exact ? "none" : "tanh";
        return make_operation(matcher.subgraph(), "Gelu", {gelu.x}, root.outputs[0],
                              {{"approximate", form}});
      });
}

}  // namespace sluice::passes
