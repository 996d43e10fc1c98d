// MatMulBnb4: products with weights of 4 bits that name one of 16 floats.
#include <array>

#include "ops/contrib/block_sizes.h"
#include "ops/lowering/lower_operations.h"

namespace sluice::ops {
namespace {

using ir::ElementType;
using ir::OperandId;

using Table = std::array<float, 16>;

/// Floats of 4 bits with a sign, 2 bits of exponent and 1 of mantissa, as bitsandbytes scales them.
constexpr Table kFp4 = {
    0, 0.0052083335F,  0.6666667F,  1,  0.33333334F,  0.5F,  0.16666667F,  0.25F,
    0, -0.0052083335F, -0.6666667F, -1, -0.33333334F, -0.5F, -0.16666667F, -0.25F};
/// Quantiles of the normal distribution (QLoRA, https://arxiv.org/abs/2305.14314, appendix E).
constexpr Table kNf4 = {-1,
                        -0.6961928009986877F,
                        -0.5250730514526367F,
                        -0.39491748809814453F,
                        -0.28444138169288635F,
                        -0.18477343022823334F,
                        -0.09105003625154495F,
                        0,
                        0.07958029955625534F,
                        0.16093020141124725F,
                        0.24611230194568634F,
                        0.33791524171829224F,
                        0.44070982933044434F,
                        0.5626170039176941F,
                        0.7229568362236023F,
                        1};

struct BnbSizes {
  std::int64_t k = 0, n = 0, block = 0;
  bool is_flipped = true;
  const Table* table = nullptr;
};

Result<BnbSizes> bnb_sizes(const Lowering& op) {
  BnbSizes s;
  s.k = op.int_of("K");
  s.n = op.int_of("N");
  s.block = op.int_of("block_size");
  s.is_flipped = op.int_of("transB", 1) != 0;
  if (s.k < 1 || s.n < 1 || s.k > kMaxBlockSize || s.n > kMaxBlockSize) {
    return op.error("attributes K and N are {} and {}", s.k, s.n);
  }
  SLUICE_TRY(check_block(op, 4, s.block));
  const std::int64_t kind = op.int_of("quant_type");
  if (kind != 0 && kind != 1) {
    return op.error("attribute quant_type is {}; it must be 0 (FP4) or 1 (NF4)", kind);
  }
  s.table = kind == 0 ? &kFp4 : &kNf4;
  return s;
}

/// W [n, k], whose numbers lie row by row, the upper half of a byte first.
/// Block `i / block` of the flat list of numbers has one scale, whatever row it lies in.
Result<OperandId> named_floats(Lowering& op, const BnbSizes& s) {
  const ir::Shape shape = {s.n, s.k};
  ir::Type type = ir::Type::tensor(ElementType::kF32, shape);
  if (!ir::storage_bytes(type)) return op.error("K and N are too large");
  // The shape function runs without values: the constant's type is enough for it.
  if (!op.has_values()) return op.constant({std::move(type), Bytes()});
  const ir::Constant* numbers = op.find_constant(1);
  const ir::Constant* largest = op.find_constant(2);
  if (numbers == nullptr || largest == nullptr) {
    return not_constant(numbers == nullptr ? "B" : "absmax");
  }
  const auto scales = ir::float_values(*largest);
  const std::int64_t count = s.n * s.k;
  const std::int64_t bytes = (count + 1) / 2, blocks = (count + s.block - 1) / s.block;
  if (static_cast<std::int64_t>(numbers->data.size()) != bytes || !scales ||
      static_cast<std::int64_t>(scales->size()) != blocks) {
    return op.error("K and N make {} bytes of B and {} numbers of absmax", bytes, blocks);
  }
  std::vector<float> floats(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const auto byte = std::to_integer<unsigned>(numbers->data.data()[i / 2]);
    const float step = (*s.table)[i % 2 == 0 ? byte >> 4 : byte & 15];
    const double scale = (*scales)[static_cast<std::size_t>(i / s.block)];
    floats[static_cast<std::size_t>(i)] = step * static_cast<float>(scale);
  }
  return op.constant(ir::make_f32_constant(floats, shape));
}

Status lower_matmul_bnb4(Lowering& op) {
  const BnbSizes s = SLUICE_TRY(bnb_sizes(op));
  OperandId w = SLUICE_TRY(named_floats(op, s));
  if (s.is_flipped) {
    w = SLUICE_TRY(op.emit("Transpose", {w}, {{"perm", std::vector<std::int64_t>{1, 0}}}));
  }
  if (op.element(0) == ElementType::kF32) return op.finish("MatMul", {op.input(0), w});
  const OperandId a = SLUICE_TRY(op.cast(op.input(0), ElementType::kF32));
  const OperandId y = SLUICE_TRY(op.emit("MatMul", {a, w}));
  return op.finish_cast(y, op.element(0));
}

}  // namespace

std::vector<LoweredOperator> lowered_bnb_weights() {
  const std::int64_t zero = 0;
  return {{"MatMulBnb4",
           "product with weights of 4 bits that name floats, scaled in blocks",
           {{"A", kFloats, "T"}, {"B", {ElementType::kU8}}, {"absmax", kFloats, "T"}},
           {"Y"},
           {{"K", zero, true},
            {"N", zero, true},
            {"block_size", zero, true},
            {"quant_type", zero, true},
            {"transB", std::int64_t{1}},
            {"training_mode", zero}},
           lower_matmul_bnb4}};
}

}  // namespace sluice::ops
