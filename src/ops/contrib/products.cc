// FusedMatMul, TransposeMatMul, FusedGemm, FusedConv and products of integers.
#include <algorithm>
#include <numeric>
#include <optional>

#include "ops/lowering/lower_operations.h"

namespace sluice::ops {
namespace {

using ir::OperandId;

/// The input as matrices: with `batch` its first axis goes behind its batch axes, and with `flip`
/// the last two are exchanged, if the attributes of these names ask for it.
Result<OperandId> matrices(Lowering& op, std::size_t index, std::string_view batch,
                           std::string_view flip) {
  const bool moves_rows = op.int_of(batch) != 0, is_flipped = op.int_of(flip) != 0;
  if (!moves_rows && !is_flipped) return op.input(index);
  const std::size_t rank = SLUICE_TRY(op.rank(index));
  if (rank < 2) return op.input(index);
  std::vector<std::int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  // [N, b.., k] becomes [b.., N, k].
  if (moves_rows) std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
  if (is_flipped) std::swap(order[rank - 1], order[rank - 2]);
  return op.emit("Transpose", {op.input(index)}, {{"perm", order}});
}

Status lower_fused_matmul(Lowering& op) {
  const OperandId a = SLUICE_TRY(matrices(op, 0, "transBatchA", "transA"));
  const OperandId b = SLUICE_TRY(matrices(op, 1, "transBatchB", "transB"));
  const float alpha = op.float_of("alpha", 1);
  // The usual case stays one product, which other passes fuse further.
  if (alpha == 1.0F) return op.finish("MatMul", {a, b});
  const OperandId product = SLUICE_TRY(op.emit("MatMul", {a, b}));
  return op.finish("Mul", {product, SLUICE_TRY(op.number(alpha))});
}

/// What attribute `activation` names, with its parameters in the order of the operator's own.
Status finish_activation(Lowering& op, OperandId x) {
  const auto name = op.operation().attributes.get_or<std::string>("activation", "");
  const auto given = op.operation().attributes.get_or<std::vector<float>>("activation_params", {});
  const auto parameter = [&](std::string_view own, std::size_t place, float fallback) {
    // Gemm names its parameters, Conv lists them; either may be absent.
    const float value = op.float_of(own, fallback);
    return place < given.size() ? given[place] : value;
  };
  if (name.empty()) return op.finish("Identity", {x});
  if (name == "Relu" || name == "Sigmoid" || name == "Tanh") return op.finish(name, {x});
  if (name == "LeakyRelu") {
    return op.finish(name, {x}, {{"alpha", parameter("activation_alpha", 0, 0.01F)}});
  }
  if (name == "HardSigmoid") {
    return op.finish(name, {x},
                     {{"alpha", parameter("activation_alpha", 0, 0.2F)},
                      {"beta", parameter("activation_beta", 1, 0.5F)}});
  }
  if (name == "Clip" && given.size() == 2) {
    return op.finish(name, {x, SLUICE_TRY(op.number(given[0])), SLUICE_TRY(op.number(given[1]))});
  }
  return op.error("attribute \"activation\" is \"{}\" with {} parameters, which is unknown", name,
                  given.size());
}

Status lower_fused_gemm(Lowering& op) {
  const OperandId y = SLUICE_TRY(op.emit("Gemm", {op.input(0), op.input(1), op.input(2)},
                                         {{"alpha", op.float_of("alpha", 1)},
                                          {"beta", op.float_of("beta", 1)},
                                          {"transA", op.int_of("transA")},
                                          {"transB", op.int_of("transB")}}));
  return finish_activation(op, y);
}

Status lower_fused_conv(Lowering& op) {
  const auto attributes =
      op.own_attributes({"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"});
  OperandId y = SLUICE_TRY(op.emit("Conv", {op.input(0), op.input(1), op.input(2)}, attributes));
  y = SLUICE_TRY(op.plus(y, 3));
  return finish_activation(op, y);
}

/// X, W, pads, B: what the pads, an input, cut from the result of ConvTranspose without any.
Status lower_conv_transpose_with_pads(Lowering& op) {
  auto attributes = op.own_attributes(
      {"auto_pad", "dilations", "group", "kernel_shape", "output_padding", "strides"});
  const auto words = op.operation().attributes.get_or<std::string>("auto_pad", "NOTSET");
  const ir::Constant* constant = op.has(2) ? op.find_constant(2) : nullptr;
  const auto pads = constant != nullptr ? ir::integer_values(*constant) : std::nullopt;
  if (pads) attributes.emplace_back("pads", *pads);
  const Lowering::Inputs inputs = {op.input(0), op.input(1), op.input(3)};
  if (pads || !op.has(2) || words != "NOTSET")
    return op.finish("ConvTranspose", inputs, attributes);
  const OperandId y = SLUICE_TRY(op.emit("ConvTranspose", inputs, attributes));
  const auto axes = static_cast<std::int64_t>(SLUICE_TRY(op.rank(0))) - 2;
  const auto part = [&](std::int64_t begin) {
    return op.emit("Slice", {op.input(2), op.ints({begin}), op.ints({begin + axes}), op.ints({0})});
  };
  const OperandId sizes = SLUICE_TRY(op.emit("Shape", {y}, {{"start", std::int64_t{2}}}));
  const OperandId ends = SLUICE_TRY(op.emit("Sub", {sizes, SLUICE_TRY(part(axes))}));
  std::vector<std::int64_t> places(static_cast<std::size_t>(std::max<std::int64_t>(axes, 0)));
  std::iota(places.begin(), places.end(), 2);
  return op.finish("Slice", {y, SLUICE_TRY(part(0)), ends, op.ints(places)});
}

// ---- integers -----------------------------------------------------------------------------------

/// Product of integers less their zero points, scaled, plus a bias: inputs by place.
Status finish_scaled(Lowering& op, Lowering::Inputs factors, OperandId scale, std::size_t bias) {
  const OperandId sum = SLUICE_TRY(op.emit("MatMulInteger", std::move(factors)));
  const OperandId wide = SLUICE_TRY(op.cast(sum, ir::ElementType::kF32));
  if (!op.has(bias)) return op.finish("Mul", {wide, scale});
  return op.finish("Add", {SLUICE_TRY(op.emit("Mul", {wide, scale})), op.input(bias)});
}

Status lower_matmul_integer_to_float(Lowering& op) {
  const OperandId scale = SLUICE_TRY(op.emit("Mul", {op.input(2), op.input(3)}));
  return finish_scaled(op, {op.input(0), op.input(1), op.input(4), op.input(5)}, scale, 6);
}

Status lower_dynamic_quantize_matmul(Lowering& op) {
  const auto a = SLUICE_TRY(op.emit_many("DynamicQuantizeLinear", {op.input(0)}, 3));
  const OperandId scale = SLUICE_TRY(op.emit("Mul", {a[1], op.input(2)}));
  return finish_scaled(op, {a[0], op.input(1), a[2], op.input(3)}, scale, 4);
}

}  // namespace

std::vector<LoweredOperator> lowered_products() {
  const std::int64_t zero = 0;
  const OperandSpec a = {"A", kFloats, "T"}, b = {"B", kFloats, "T"};
  const OperandSpec c = {"C", kFloats, "T", true}, z = {"Z", kFloats, "T", true};
  const OperandSpec scale = {"scale", kFloats}, bias = {"bias", kFloats, "", true};
  const OperandSpec bytes = {"B", kInts}, zeros = {"zero_point", kInts, "", true};
  const std::vector<AttributeSpec> transposed = {
      {"alpha", 1.0F}, {"transA", zero}, {"transB", zero}};
  std::vector<AttributeSpec> gemm = transposed;
  gemm.push_back({"beta", 1.0F});
  gemm.push_back({"activation", std::string()});
  std::vector<AttributeSpec> batched = transposed;
  batched.insert(batched.end(), {{"transBatchA", zero}, {"transBatchB", zero}});
  return {
      {"FusedMatMul",
       "alpha * A * B, transposed on request",
       {a, b},
       {"Y"},
       std::move(batched),
       lower_fused_matmul},
      {"TransposeMatMul",
       "FusedMatMul under its old name",
       {a, b},
       {"Y"},
       transposed,
       lower_fused_matmul},
      {"FusedGemm", "an activation of Gemm", {a, b, c}, {"Y"}, std::move(gemm), lower_fused_gemm},
      {"FusedConv",
       "an activation of Conv(X, W, B) + Z",
       {a, b, c, z},
       {"Y"},
       {{"activation", std::string()}},
       lower_fused_conv},
      {"ConvTransposeWithDynamicPads",
       "ConvTranspose with pads of an input",
       {a, b, {"Pads", kI64Only, "", true, false, true}, c},
       {"Y"},
       {},
       lower_conv_transpose_with_pads},
      {"MatMulIntegerToFloat",
       "scaled product of integers less their zero points",
       {{"A", kInts}, bytes, scale, scale, zeros, zeros, bias},
       {"Y"},
       {},
       lower_matmul_integer_to_float},
      {"DynamicQuantizeMatMul",
       "A, quantized at run time, times quantized weights",
       {a, bytes, scale, zeros, bias},
       {"Y"},
       {},
       lower_dynamic_quantize_matmul},
  };
}

}  // namespace sluice::ops
