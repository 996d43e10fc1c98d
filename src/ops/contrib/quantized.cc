// Quantized operators of com.microsoft: the plain operator between DequantizeLinear and
// QuantizeLinear.
#include <string>

#include "ops/lowering/lower_operations.h"

namespace sluice::ops {
namespace {

using ir::OperandId;

/// Input `index` with the scale and zero point that follow it, as floats.
Result<OperandId> dequantized(Lowering& op, std::size_t index, std::int64_t axis = 1) {
  return op.emit("DequantizeLinear", {op.input(index), op.input(index + 1), op.input(index + 2)},
                 {{"axis", axis}});
}

/// `y` quantized with the scale input `scale` and the zero point after it; u8 without one.
Status finish_quantized(Lowering& op, OperandId y, std::size_t scale) {
  return op.finish("QuantizeLinear", {y, op.input(scale), op.input(scale + 1)});
}

/// QLinearAdd: A, scale, zero point; B, scale, zero point; scale, zero point of the result.
Status lower_binary(Lowering& op) {
  const OperandId a = SLUICE_TRY(dequantized(op, 0));
  const OperandId b = SLUICE_TRY(dequantized(op, 3));
  const std::string kind = op.operation().kind.substr(std::string("QLinear").size());
  return finish_quantized(op, SLUICE_TRY(op.emit(kind, {a, b})), 6);
}

/// The axes of an image whose channels come last, in the order of ONNX; or back.
Result<OperandId> channels_moved(Lowering& op, OperandId x, std::size_t rank, bool to_front) {
  std::vector<std::int64_t> order = {0};
  if (to_front) order.push_back(static_cast<std::int64_t>(rank) - 1);
  const auto last = static_cast<std::int64_t>(rank) - (to_front ? 1 : 0);
  for (std::int64_t axis = to_front ? 1 : 2; axis < last; ++axis) order.push_back(axis);
  if (!to_front) order.push_back(1);
  return op.emit("Transpose", {x}, {{"perm", order}});
}

/// X, scale, zero point; scale, zero point of the result.
Status lower_unary(Lowering& op) {
  const std::string kind = op.operation().kind.substr(std::string("QLinear").size());
  const auto attributes =
      op.own_attributes({"alpha", "axis", "auto_pad", "ceil_mode", "count_include_pad",
                         "kernel_shape", "pads", "strides"});
  const OperandId x = SLUICE_TRY(dequantized(op, 0));
  if (op.int_of("channels_last") == 0) {
    return finish_quantized(op, SLUICE_TRY(op.emit(kind, {x}, attributes)), 3);
  }
  const std::size_t rank = SLUICE_TRY(op.rank(0));
  if (rank < 3) return op.error("input 0 has rank {}; it must be an image", rank);
  const OperandId image = SLUICE_TRY(channels_moved(op, x, rank, true));
  const OperandId y = SLUICE_TRY(op.emit(kind, {image}, attributes));
  return finish_quantized(op, SLUICE_TRY(channels_moved(op, y, rank, false)), 3);
}

/// Before opset 13, Softmax joins all axes from `axis` on. onnxruntime's quantizer writes the opset
/// of the model.
Status lower_softmax(Lowering& op) {
  const OperandId x = SLUICE_TRY(dequantized(op, 0));
  std::int64_t axis = op.int_of("axis", -1);
  if (op.int_of("opset") >= 13 || axis == -1) {
    return finish_quantized(op, SLUICE_TRY(op.emit("Softmax", {x}, {{"axis", axis}})), 3);
  }
  const auto rank = static_cast<std::int64_t>(SLUICE_TRY(op.rank(0)));
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return op.error("axis {} of {} axes", op.int_of("axis", -1), rank);
  std::vector<std::int64_t> joined(static_cast<std::size_t>(axis), 0);  // 0: as it is
  joined.push_back(-1);
  const OperandId rows = SLUICE_TRY(op.emit("Reshape", {x, op.ints(joined)}));
  const OperandId y = SLUICE_TRY(op.emit("Softmax", {rows}, {{"axis", std::int64_t{-1}}}));
  const OperandId shape = SLUICE_TRY(op.emit("Shape", {x}));
  return finish_quantized(op, SLUICE_TRY(op.emit("Reshape", {y, shape})), 3);
}

/// As lower_unary, with the axes as an attribute.
Status lower_reduce_mean(Lowering& op) {
  const auto axes = op.operation().attributes.get_or<std::vector<std::int64_t>>("axes", {});
  const OperandId x = SLUICE_TRY(dequantized(op, 0));
  const OperandId y =
      SLUICE_TRY(op.emit("ReduceMean", {x, axes.empty() ? OperandId() : op.ints(axes)},
                         {{"keepdims", op.int_of("keepdims", 1)}}));
  return finish_quantized(op, y, 3);
}

/// condition; X, scale, zero point; Y, scale, zero point; scale, zero point of the result.
Status lower_where(Lowering& op) {
  const OperandId x = SLUICE_TRY(dequantized(op, 1));
  const OperandId y = SLUICE_TRY(dequantized(op, 4));
  return finish_quantized(op, SLUICE_TRY(op.emit("Where", {op.input(0), x, y})), 7);
}

/// ONNX's, with channels last on request.
Status lower_conv(Lowering& op) {
  const auto attributes =
      op.own_attributes({"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"});
  Lowering::Inputs inputs = op.operation().inputs;
  if (op.int_of("channels_last") == 0)
    return op.finish("QLinearConv", std::move(inputs), attributes);
  const std::size_t rank = SLUICE_TRY(op.rank(0));
  if (rank < 3) return op.error("input 0 has rank {}; it must be an image", rank);
  inputs[0] = SLUICE_TRY(channels_moved(op, inputs[0], rank, true));
  const OperandId y = SLUICE_TRY(op.emit("QLinearConv", std::move(inputs), attributes));
  return op.finish("Identity", {SLUICE_TRY(channels_moved(op, y, rank, false))});
}

Status lower_nhwc_max_pool(Lowering& op) {
  const std::size_t rank = SLUICE_TRY(op.rank(0));
  if (rank < 3) return op.error("input 0 has rank {}; it must be an image", rank);
  const OperandId x = SLUICE_TRY(channels_moved(op, op.input(0), rank, true));
  const OperandId y = SLUICE_TRY(op.emit("MaxPool", {x},
                                         op.own_attributes({"auto_pad", "ceil_mode", "dilations",
                                                            "kernel_shape", "pads", "strides"})));
  return op.finish("Identity", {SLUICE_TRY(channels_moved(op, y, rank, false))});
}

/// Scale and zero point of the result first, then each input with its own.
Status lower_concat(Lowering& op) {
  const std::size_t count = op.operation().inputs.size();
  if (count < 5 || (count - 2) % 3 != 0) {
    return op.error("it has {} inputs; it needs 2, and 3 for each tensor", count);
  }
  Lowering::Inputs parts;
  for (std::size_t i = 2; i < count; i += 3) parts.push_back(SLUICE_TRY(dequantized(op, i)));
  const OperandId joined =
      SLUICE_TRY(op.emit("Concat", std::move(parts), {{"axis", op.int_of("axis")}}));
  return finish_quantized(op, joined, 0);
}

/// A and B with scale and zero point each, C of integers in the scale of the product, and maybe the
/// scale and zero point of the result, which else is of floats.
Status lower_qgemm(Lowering& op) {
  const OperandId a = SLUICE_TRY(dequantized(op, 0));
  const OperandId b = SLUICE_TRY(dequantized(op, 3, op.int_of("transB") != 0 ? 0 : 1));
  OperandId c;
  if (op.has(6)) {
    const OperandId wide = SLUICE_TRY(op.cast(op.input(6), ir::ElementType::kF32));
    const OperandId scale = SLUICE_TRY(op.emit("Mul", {op.input(1), op.input(4)}));
    const OperandId scaled = SLUICE_TRY(op.emit("Mul", {wide, scale}));
    c = SLUICE_TRY(op.emit("Mul", {scaled, SLUICE_TRY(op.number(op.float_of("alpha", 1), 1))}));
  }
  const Lowering::AttributeList attributes = {{"alpha", op.float_of("alpha", 1)},
                                              {"transA", op.int_of("transA")},
                                              {"transB", op.int_of("transB")}};
  if (!op.has(7)) return op.finish("Gemm", {a, b, c}, attributes);
  return finish_quantized(op, SLUICE_TRY(op.emit("Gemm", {a, b, c}, attributes)), 7);
}

/// The standard operator under another domain.
Status lower_same(Lowering& op) {
  return op.finish(op.operation().kind, op.operation().inputs, op.own_attributes({"axis"}));
}

LoweredOperator unary(std::string_view name, std::string_view doc,
                      std::vector<AttributeSpec> attributes = {}) {
  const OperandSpec x = {"X", kInts}, scale = {"scale", kFloats}, zero = {"zero", kInts, "", true};
  return {name, doc, {x, scale, zero, scale, zero}, {"Y"}, std::move(attributes), lower_unary};
}

std::vector<LoweredOperator> images_and_choices() {
  const OperandSpec x = {"X", kInts}, scale = {"scale", kFloats}, zero = {"zero", kInts, "", true};
  const std::int64_t no = 0;
  return {
      {"QLinearReduceMean",
       "mean of a quantized tensor along axes, quantized again",
       {x, scale, zero, scale, zero},
       {"Y"},
       {{"keepdims", std::int64_t{1}}, {"axes", std::nullopt}},
       lower_reduce_mean},
      {"QLinearWhere",
       "one of two quantized tensors by a condition, quantized again",
       {{"condition", kBools}, x, scale, zero, x, scale, zero, scale, zero},
       {"Z"},
       {},
       lower_where},
      {"QLinearConv",
       "ONNX's, with channels last on request",
       {x, scale, zero, x, scale, zero, scale, zero, {"B", {ir::ElementType::kI32}, "", true}},
       {"Y"},
       {{"channels_last", no}},
       lower_conv},
      {"NhwcMaxPool",
       "MaxPool of quantized images with channels last",
       {x},
       {"Y"},
       {{"kernel_shape", std::nullopt, true}},
       lower_nhwc_max_pool},
  };
}

}  // namespace

std::vector<LoweredOperator> lowered_quantized() {
  const OperandSpec x = {"X", kInts}, zero = {"zero_point", kInts, "", true};
  const OperandSpec scale = {"scale", kFloats}, maybe_scale = {"scale", kFloats, "", true};
  const std::vector<OperandSpec> pair = {x, scale, zero, x, scale, zero, scale, zero};
  const TypeSet narrow = kInts | TypeSet{ir::ElementType::kU4, ir::ElementType::kI4};
  const OperandSpec narrow_x = {"X", narrow}, narrow_zero = {"zero_point", narrow, "", true};
  const OperandSpec any = {.name = "inputs", .types = kFloats | kInts, .is_variadic = true};
  const std::int64_t no = 0;
  std::vector<LoweredOperator> all = {
      {"QLinearAdd", "sum of quantized tensors, quantized again", pair, {"C"}, {}, lower_binary},
      {"QLinearMul",
       "product of quantized tensors, quantized again",
       pair,
       {"C"},
       {},
       lower_binary},
      unary("QLinearSigmoid", "sigmoid of a quantized tensor, quantized again"),
      unary("QLinearLeakyRelu", "LeakyRelu of a quantized tensor, quantized again",
            {{"alpha", 0.01F}}),
      {"QLinearSoftmax",
       "softmax of a quantized tensor, quantized again",
       {x, scale, zero, scale, zero},
       {"Y"},
       {{"axis", std::int64_t{-1}}, {"opset", no, true}},
       lower_softmax},
      unary("QLinearAveragePool", "AveragePool of a quantized tensor, quantized again"),
      unary("QLinearGlobalAveragePool", "mean of each quantized channel, quantized again"),
      {"QLinearConcat",
       "quantized tensors joined, quantized again",
       {scale, zero, any},
       {"Y"},
       {{"axis", no, true}},
       lower_concat},
      {"QGemm",
       "Gemm of quantized tensors, quantized again on request",
       {x, scale, zero, x, scale, zero, {"C", kInts, "", true}, maybe_scale, zero},
       {"Y"},
       {{"alpha", 1.0F}, {"transA", no}, {"transB", no}},
       lower_qgemm},
      {"QuantizeLinear",
       "ONNX's, under another domain",
       {{"x", kFloats}, scale, narrow_zero},
       {"y"},
       {{"axis", std::int64_t{1}}},
       lower_same},
      {"DequantizeLinear",
       "ONNX's, under another domain",
       {narrow_x, scale, narrow_zero},
       {"y"},
       {{"axis", std::int64_t{1}}},
       lower_same},
  };
  const auto more = images_and_choices();
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace sluice::ops
