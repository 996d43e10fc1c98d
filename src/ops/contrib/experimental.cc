// Operators that early ONNX files call by the names of an experimental set: Affine, Crop,
// ImageScaler, ParametricSoftplus, Scale and ScaledTanh. contrib/caffe2.cc has the rest of the set.
#include <optional>

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

Status lower_scale(Lowering& op) {
  return op.finish("Mul", {op.input(0), SLUICE_TRY(op.number(op.float_of("scale", 1)))});
}

/// An input of undeclared rank passes: the shapes of the run decide.
Status check_image(const Lowering& op) {
  const auto rank = op.rank(0);
  if (!rank.is_ok() || rank.value() == 4) return ok_status();
  return op.error("its input has rank {}; it takes images [N, C, H, W]", rank.value());
}

/// One number for each channel.
Status check_bias(const Lowering& op, std::int64_t numbers) {
  const auto size = op.size(0, 1);
  if (!size.is_ok() || !size.value().is_known()) return ok_status();
  const std::int64_t channels = size.value().value();
  if (channels == numbers) return ok_status();
  return op.error("bias has {} numbers for {} channels", numbers, channels);
}

/// x * scale + bias[channel]
Status lower_image_scaler(Lowering& op) {
  SLUICE_TRY(check_image(op));
  const auto bias = op.operation().attributes.get_or<std::vector<float>>("bias", {});
  if (bias.empty()) return lower_scale(op);
  const auto channels = static_cast<std::int64_t>(bias.size());
  SLUICE_TRY(check_bias(op, channels));
  const OperandId scale = SLUICE_TRY(op.number(op.float_of("scale", 1)));
  const OperandId scaled = SLUICE_TRY(op.emit("Mul", {op.input(0), scale}));
  const OperandId floats = op.constant(ir::make_f32_constant(bias, {1, channels, 1, 1}));
  if (op.element(0) == ir::ElementType::kF32) return op.finish("Add", {scaled, floats});
  return op.finish("Add", {scaled, SLUICE_TRY(op.cast(floats, op.element(0)))});
}

using Pixels = std::vector<std::int64_t>;

/// Where the kept part of an axis ends, which starts at pixel `first`. Fails where it is empty or
/// reaches out of the image.
Result<std::int64_t> crop_end(const Lowering& op, std::size_t axis, std::int64_t first,
                              std::int64_t far_border, std::optional<std::int64_t> size) {
  const ir::Dim dim = SLUICE_TRY(op.size(0, axis));
  const std::int64_t end = size ? first + *size : SLUICE_TRY(op.dim(0, axis)) - far_border;
  if (end > first && (!dim.is_known() || end <= dim.value())) return end;
  return op.error("it keeps pixels {} to {} of axis {}, which has {}", first, end, axis,
                  dim.to_string());
}

Status check_crop(const Lowering& op, const Pixels& border, const Pixels& size) {
  constexpr std::int64_t kMaxSide = std::int64_t{1} << 31;  // sums of two stay far from overflow
  if (border.size() != 4) return op.error("border has {} numbers; it takes four", border.size());
  if (!size.empty() && size.size() != 2) {
    return op.error("scale has {} numbers; it takes height and width", size.size());
  }
  for (const Pixels& numbers : {border, size}) {
    for (const std::int64_t pixels : numbers) {
      if (pixels > kMaxSide) return op.error("{} pixels are more than an image has", pixels);
    }
  }
  return check_image(op);
}

/// Without the border [left, top, right, bottom], or `scale` [height, width] from its left top on.
Status lower_crop(Lowering& op) {
  const auto& attributes = op.operation().attributes;
  const auto border = attributes.get_or<Pixels>("border", {});
  const auto size = attributes.get_or<Pixels>("scale", {});
  SLUICE_TRY(check_crop(op, border, size));
  const Pixels starts = {border[1], border[0]}, far_borders = {border[3], border[2]};
  Pixels ends;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto length = size.empty() ? std::nullopt : std::optional(size[i]);
    ends.push_back(SLUICE_TRY(crop_end(op, i + 2, starts[i], far_borders[i], length)));
  }
  return op.finish("Slice", {op.input(0), op.ints(starts), op.ints(ends), op.ints({2, 3})});
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
      {"Scale", "scale * x", {x}, {"Y"}, {{"scale", 1.0F}}, lower_scale, ""},
      {"ScaledTanh", "alpha * tanh(beta * x)", {x}, {"Y"}, {alpha, beta}, lower_scaled_tanh, ""},
  };
}

}  // namespace sluice::ops
