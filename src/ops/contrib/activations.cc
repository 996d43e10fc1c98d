// Gelu, FastGelu, BiasGelu, QuickGelu, BiasSplitGelu.
#include "ops/lowering/lower_operations.h"

namespace sluice::ops {
namespace {

Status lower_gelu(Lowering& op) {
  const bool is_fast = op.operation().kind == "FastGelu";
  const ir::OperandId x = SLUICE_TRY(op.plus(op.input(0), 1));
  return op.finish("Gelu", {x}, {{"approximate", std::string(is_fast ? "tanh" : "none")}});
}

/// x * sigmoid(alpha * x)
Status lower_quick_gelu(Lowering& op) {
  const ir::OperandId alpha = SLUICE_TRY(op.number(op.float_of("alpha")));
  const ir::OperandId scaled = SLUICE_TRY(op.emit("Mul", {op.input(0), alpha}));
  const ir::OperandId gate = SLUICE_TRY(op.emit("Sigmoid", {scaled}));
  return op.finish("Mul", {op.input(0), gate});
}

/// The first half of the columns times the Gelu of the second.
Status lower_bias_split_gelu(Lowering& op) {
  const ir::OperandId sum = SLUICE_TRY(op.plus(op.input(0), 1));
  const auto halves = SLUICE_TRY(op.emit_many(
      "Split", {sum}, 2, {{"axis", std::int64_t{-1}}, {"num_outputs", std::int64_t{2}}}));
  const ir::OperandId gate = SLUICE_TRY(op.emit("Gelu", {halves[1]}));
  return op.finish("Mul", {halves[0], gate});
}

}  // namespace

std::vector<LoweredOperator> lowered_activations() {
  const OperandSpec x = {"X", kFloats, "T"};
  const OperandSpec bias = {"bias", kFloats, "T"};
  const OperandSpec maybe_bias = {"bias", kFloats, "T", true};
  return {
      {"Gelu", "x * Phi(x)", {x}, {"Y"}, {}, lower_gelu},
      {"BiasGelu", "Gelu of x + bias", {x, bias}, {"Y"}, {}, lower_gelu},
      {"FastGelu", "Gelu of x + bias by tanh", {x, maybe_bias}, {"Y"}, {}, lower_gelu},
      {"QuickGelu", "x * sigmoid(alpha * x)", {x}, {"Y"}, {{"alpha", 1.702F}}, lower_quick_gelu},
      {"BiasSplitGelu",
       "one half of x + bias times the Gelu of the other",
       {x, bias},
       {"Y"},
       {},
       lower_bias_split_gelu},
  };
}

}  // namespace sluice::ops
