// Operators that early ONNX files call by the names of an experimental set: Affine, Crop,
// ImageScaler, ParametricSoftplus and ScaledTanh.
#include "ops/lowering/lower_operations.h"

namespace sluice::ops {
namespace {

using ir::OperandId;

/// alpha * f(beta * x)
Status lower_scaled(Lowering& op, std::string_view function) {
  const OperandId beta = SLUICE_TRY(op.number(op.float_of("beta", 1)));
  const OperandId alpha = SLUICE_TRY(op.number(op.float_of("alpha", 1)));
  const OperandId scaled = SLUICE_TRY(op.emit("Mul", {op.input(0), beta}));
  return op.finish("Mul", {SLUICE_TRY(op.emit(function, {scaled})), alpha});
}

Status lower_scaled_tanh(Lowering& op) { return lower_scaled(op, "Tanh"); }
Status lower_parametric_softplus(Lowering& op) { return lower_scaled(op, "Softplus"); }

Status lower_affine(Lowering& op) {
  const OperandId alpha = SLUICE_TRY(op.number(op.float_of("alpha", 1)));
  const OperandId beta = SLUICE_TRY(op.number(op.float_of("beta", 0)));
  return op.finish("Add", {SLUICE_TRY(op.emit("Mul", {op.input(0), alpha})), beta});
}

/// x * scale + bias[channel]
Status lower_image_scaler(Lowering& op) {
  const auto bias = op.operation().attributes.get_or<std::vector<float>>("bias", {});
  const OperandId scale = SLUICE_TRY(op.number(op.float_of("scale", 1)));
  const OperandId scaled = SLUICE_TRY(op.emit("Mul", {op.input(0), scale}));
  const auto channels = static_cast<std::int64_t>(bias.size());
  const OperandId floats = op.constant(ir::make_f32_constant(bias, {1, channels, 1, 1}));
  const auto element = static_cast<std::int64_t>(op.element(0));
  if (op.element(0) == ir::ElementType::kF32) return op.finish("Add", {scaled, floats});
  return op.finish("Add", {scaled, SLUICE_TRY(op.emit("Cast", {floats}, {{"to", element}}))});
}

/// Without the border [left, top, right, bottom], or `scale` [height, width] from its left top on.
Status lower_crop(Lowering& op) {
  const auto& attributes = op.operation().attributes;
  const auto border = attributes.get_or<std::vector<std::int64_t>>("border", {});
  const auto size = attributes.get_or<std::vector<std::int64_t>>("scale", {});
  if (border.size() != 4) return op.error("border has {} numbers; it takes four", border.size());
  if (!size.empty() && size.size() != 2) {
    return op.error("scale has {} numbers; it takes height and width", size.size());
  }
  const std::int64_t left = border[0], top = border[1];
  std::vector<std::int64_t> ends;
  if (size.empty()) {
    ends = {SLUICE_TRY(op.dim(0, 2)) - border[3], SLUICE_TRY(op.dim(0, 3)) - border[2]};
  } else {
    ends = {top + size[0], left + size[1]};
  }
  return op.finish("Slice", {op.input(0), op.ints({top, left}), op.ints(ends), op.ints({2, 3})});
}

}  // namespace

std::vector<LoweredOperator> lowered_experimental() {
  const OperandSpec x = {"X", kFloats, "T"};
  const AttributeSpec alpha = {"alpha", 1.0F}, beta = {"beta", 1.0F};
  const std::vector<std::int64_t> none;
  return {
      {"Affine", "alpha * x + beta", {x}, {"Y"}, {alpha, {"beta", 0.0F}}, lower_affine, ""},
      {"Crop",
       "an image without its border",
       {x},
       {"Y"},
       {{"border", none}, {"scale", none}},
       lower_crop,
       ""},
      {"ImageScaler",
       "scale * x + bias of the channel",
       {x},
       {"Y"},
       {{"scale", 1.0F}, {"bias", std::vector<float>{}}},
       lower_image_scaler,
       ""},
      {"ParametricSoftplus",
       "alpha * log(1 + exp(beta * x))",
       {x},
       {"Y"},
       {alpha, beta},
       lower_parametric_softplus,
       ""},
      {"ScaledTanh", "alpha * tanh(beta * x)", {x}, {"Y"}, {alpha, beta}, lower_scaled_tanh, ""},
  };
}

}  // namespace sluice::ops
