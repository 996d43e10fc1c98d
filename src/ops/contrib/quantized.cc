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

Lowering::AttributeList own_attributes(const Lowering& op,
                                       std::initializer_list<std::string_view> names) {
  Lowering::AttributeList list;
  for (const auto& [name, value] : op.operation().attributes) {
    for (const std::string_view wanted : names) {
      if (name == wanted) list.emplace_back(name, value);
    }
  }
  return list;
}

/// X, scale, zero point; scale, zero point of the result.
Status lower_unary(Lowering& op) {
  const std::string kind = op.operation().kind.substr(std::string("QLinear").size());
  if (op.int_of("channels_last") != 0) {
    return unimplemented("attribute \"channels_last\" is not supported");
  }
  const auto attributes =
      own_attributes(op, {"alpha", "axis", "auto_pad", "ceil_mode", "count_include_pad",
                          "kernel_shape", "pads", "strides"});
  const OperandId x = SLUICE_TRY(dequantized(op, 0));
  return finish_quantized(op, SLUICE_TRY(op.emit(kind, {x}, attributes)), 3);
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
    const OperandId wide = SLUICE_TRY(op.emit("Cast", {op.input(6)}, {{"to", kF32Code}}));
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
  return op.finish(op.operation().kind, op.operation().inputs, own_attributes(op, {"axis"}));
}

LoweredOperator unary(std::string_view name, std::string_view doc,
                      std::vector<AttributeSpec> attributes = {}) {
  const OperandSpec x = {"X", kInts}, scale = {"scale", kFloats}, zero = {"zero", kInts, "", true};
  return {name, doc, {x, scale, zero, scale, zero}, {"Y"}, std::move(attributes), lower_unary};
}

}  // namespace

std::vector<LoweredOperator> lowered_quantized() {
  const OperandSpec x = {"X", kInts}, zero = {"zero_point", kInts, "", true};
  const OperandSpec scale = {"scale", kFloats}, maybe_scale = {"scale", kFloats, "", true};
  const std::vector<OperandSpec> pair = {x, scale, zero, x, scale, zero, scale, zero};
  const OperandSpec any = {.name = "inputs", .types = kFloats | kInts, .is_variadic = true};
  const std::int64_t no = 0;
  return {
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
      unary("QLinearSoftmax", "softmax of a quantized tensor, quantized again",
            {{"axis", std::int64_t{-1}}}),
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
       {{"x", kFloats}, scale, zero},
       {"y"},
       {{"axis", std::int64_t{1}}},
       lower_same},
      {"DequantizeLinear",
       "ONNX's, under another domain",
       {x, scale, zero},
       {"y"},
       {{"axis", std::int64_t{1}}},
       lower_same},
  };
}

}  // namespace sluice::ops
