// FusedMatMul, TransposeMatMul, FusedGemm, FusedConv, MatMulNBits and products of integers.
#include <numeric>
#include <optional>

#include "ops/lowering/lower_operations.h"

namespace sluice::ops {
namespace {

using ir::OperandId;

/// The input with its last two axes exchanged if attribute `name` asks for it.
Result<OperandId> maybe_transposed(Lowering& op, std::size_t index, std::string_view name) {
  if (op.int_of(name) == 0) return op.input(index);
  const std::size_t rank = SLUICE_TRY(op.rank(index));
  if (rank < 2) return op.input(index);
  std::vector<std::int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[rank - 1], order[rank - 2]);
  return op.emit("Transpose", {op.input(index)}, {{"perm", order}});
}

Status lower_fused_matmul(Lowering& op) {
  for (const char* name : {"transBatchA", "transBatchB"}) {
    if (op.int_of(name) != 0) return unimplemented("attribute \"{}\" is not supported", name);
  }
  const OperandId a = SLUICE_TRY(maybe_transposed(op, 0, "transA"));
  const OperandId b = SLUICE_TRY(maybe_transposed(op, 1, "transB"));
  const float alpha = op.float_of("alpha", 1);
  if (alpha == 1.0F) return op.finish("MatMul", {a, b});
  const OperandId product = SLUICE_TRY(op.emit("MatMul", {a, b}));
  return op.finish("Mul", {product, SLUICE_TRY(op.number(alpha))});
}

/// What attribute `activation` names, with its parameters in the order of the operator's own.
Status finish_activation(Lowering& op, OperandId x) {
  const auto name = op.operation().attributes.get_or<std::string>("activation", "");
  const auto given = op.operation().attributes.get_or<std::vector<float>>("activation_params", {});
  const auto parameter = [&](std::string_view own, std::size_t place, float fallback) {
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
  Lowering::AttributeList attributes;
  for (const char* name : {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"}) {
    const auto& all = op.operation().attributes;
    for (const auto& [own, value] : all) {
      if (own == name) attributes.emplace_back(name, value);
    }
  }
  OperandId y = SLUICE_TRY(op.emit("Conv", {op.input(0), op.input(1), op.input(2)}, attributes));
  y = SLUICE_TRY(op.plus(y, 3));
  return finish_activation(op, y);
}

// ---- integers -----------------------------------------------------------------------------------

/// Product of integers less their zero points, scaled, plus a bias: inputs by place.
Status finish_scaled(Lowering& op, Lowering::Inputs factors, OperandId scale, std::size_t bias) {
  const OperandId sum = SLUICE_TRY(op.emit("MatMulInteger", std::move(factors)));
  const OperandId wide = SLUICE_TRY(op.emit("Cast", {sum}, {{"to", kF32Code}}));
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

// ---- weights of a few bits ----------------------------------------------------------------------

/// A constant of bytes seen as elements of `bits` bits: [rows, columns].
Result<OperandId> unpacked(Lowering& op, std::size_t index, std::int64_t bits, std::int64_t rows,
                           std::int64_t columns) {
  const ir::ElementType element = bits == 8   ? ir::ElementType::kU8
                                  : bits == 4 ? ir::ElementType::kU4
                                              : ir::ElementType::kU2;
  const ir::Type type = ir::Type::tensor(element, ir::Shape{rows, columns});
  const ir::Constant* packed = op.find_constant(index);
  const auto bytes = ir::storage_bytes(type);
  if (!bytes) return op.error("K and N are too large");
  if (packed == nullptr && !op.has_values()) return op.constant({type, Bytes()});
  if (packed == nullptr) return unimplemented("input {} must be a constant", index);
  if (packed->data.size() != static_cast<std::size_t>(*bytes)) {
    return op.error("input {} has {} bytes; {} needs {}", index, packed->data.size(),
                    type.to_string(), *bytes);
  }
  return op.constant({type, packed->data});
}

struct BlockSizes {
  std::int64_t k = 0, n = 0, bits = 0, block = 0, blocks = 0;
};

Result<BlockSizes> block_sizes(const Lowering& op) {
  constexpr std::int64_t kMax = std::int64_t{1} << 31;
  BlockSizes s = {op.int_of("K"), op.int_of("N"), op.int_of("bits", 4), op.int_of("block_size")};
  if (s.k < 1 || s.n < 1 || s.k > kMax || s.n > kMax) {
    return op.error("attributes K and N are {} and {}", s.k, s.n);
  }
  if (s.bits != 2 && s.bits != 4 && s.bits != 8) return op.error("attribute bits is {}", s.bits);
  if (s.block < 16 || s.block > kMax || (s.block & (s.block - 1)) != 0) {
    return op.error("attribute block_size is {}; it must be a power of 2 from 16 on", s.block);
  }
  s.blocks = (s.k + s.block - 1) / s.block;
  return s;
}

/// Zero points of all blocks, each row padded to bytes; half the range if the input is absent.
Result<OperandId> zero_points(Lowering& op, const BlockSizes& s) {
  const std::int64_t per_byte = 8 / s.bits;
  const std::int64_t padded = (s.blocks + per_byte - 1) / per_byte * per_byte;
  if (op.has(3)) {
    if (op.element(3) != ir::ElementType::kU8) {
      return unimplemented("zero points must be packed u8");
    }
    const OperandId all = SLUICE_TRY(unpacked(op, 3, s.bits, s.n, padded));
    if (padded == s.blocks) return all;
    return op.emit("Slice", {all, op.ints({0}), op.ints({s.blocks}), op.ints({1})});
  }
  constexpr std::byte kHalf2{0xAA}, kHalf4{0x88}, kHalf8{0x80};
  const ir::ElementType element = s.bits == 8   ? ir::ElementType::kU8
                                  : s.bits == 4 ? ir::ElementType::kU4
                                                : ir::ElementType::kU2;
  const ir::Type type = ir::Type::tensor(element, ir::Shape{s.n, s.blocks});
  const auto bytes = ir::storage_bytes(type);
  if (!bytes) return op.error("K and N are too large");
  const std::byte half = s.bits == 8 ? kHalf8 : s.bits == 4 ? kHalf4 : kHalf2;
  const auto size = op.has_values() ? static_cast<std::size_t>(*bytes) : 0;
  return op.constant({type, Bytes::own(std::vector<std::byte>(size, half))});
}

/// A * B^T, where B holds blocks of `block_size` numbers of a few bits with a scale each.
Status lower_matmul_nbits(Lowering& op) {
  const BlockSizes s = SLUICE_TRY(block_sizes(op));
  if (op.has(4)) return unimplemented("input \"g_idx\" is not supported");
  const OperandId bits = SLUICE_TRY(unpacked(op, 1, s.bits, s.n, s.blocks * s.block));
  const OperandId scales = SLUICE_TRY(op.emit("Reshape", {op.input(2), op.ints({s.n, s.blocks})}));
  const OperandId zeros = SLUICE_TRY(zero_points(op, s));
  OperandId weights = SLUICE_TRY(op.emit("DequantizeLinear", {bits, scales, zeros},
                                         {{"axis", std::int64_t{1}}, {"block_size", s.block}}));
  if (s.blocks * s.block != s.k) {
    weights = SLUICE_TRY(op.emit("Slice", {weights, op.ints({0}), op.ints({s.k}), op.ints({1})}));
  }
  weights =
      SLUICE_TRY(op.emit("Transpose", {weights}, {{"perm", std::vector<std::int64_t>{1, 0}}}));
  if (!op.has(5)) return op.finish("MatMul", {op.input(0), weights});
  return op.finish("Add", {SLUICE_TRY(op.emit("MatMul", {op.input(0), weights})), op.input(5)});
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
  return {
      {"FusedMatMul",
       "alpha * A * B, transposed on request",
       {a, b},
       {"Y"},
       transposed,
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
      {"MatMulNBits",
       "product with weights of 2, 4 or 8 bits, scaled in blocks",
       {a,
        {"B", {ir::ElementType::kU8}},
        {"scales", kFloats, "T"},
        {"zero_points", kFloats | kInts, "", true},
        {"g_idx", kIndices, "", true},
        {"bias", kFloats, "T", true}},
       {"Y"},
       {{"K", zero, true},
        {"N", zero, true},
        {"bits", std::int64_t{4}},
        {"block_size", zero, true}},
       lower_matmul_nbits},
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
