// Matrix products: MatMul, Gemm, MatMulInteger, QLinearMatMul; and Det.
//
// NarrowMatMul  a product with weights that come in fewer bits than the f32 in which it computes:
//               Y = A * W, with A f32 [..., K].
//                 B f16 or bf16 [K, N]                            W = B
//                 B u4, i4, u8 or i8 [K, N], scales f32 [K / s, N]    W = (B - zeros) * scales
//               `block_size` s rows of B share a scale and a zero point: of B's type or f32, one
//               per block, or [1] for all; absent: 0. With `transB` B is [N, K], and scales and
//               zeros are [N, K / s]; the last block of a row may then have more places than A. If
//               `sluice_weights` is "int8", a kernel may round rows of A to 8 bits, all or by
//               blocks.
#include <utility>

#include "ops/families.h"
#include "ops/inference.h"

namespace sluice::ops {
namespace {

using ir::ElementType;

constexpr TypeSet kBytes = {ElementType::kU8, ElementType::kI8};
constexpr TypeSet kQuantized = kBytes | TypeSet{ElementType::kF8E4M3Fn, ElementType::kF8E4M3Fnuz,
                                                ElementType::kF8E5M2, ElementType::kF8E5M2Fnuz};
constexpr TypeSet kScales = {ElementType::kF32, ElementType::kF16, ElementType::kBf16};
constexpr TypeSet kProducts =
    kFloats | TypeSet{ElementType::kI32, ElementType::kI64, ElementType::kU32, ElementType::kU64};

/// Rows and columns multiply, what is before them broadcasts; a vector is a row on the left and a
/// column on the right, and leaves no dimension behind.
Result<ir::Shape> product_shape(const InferenceContext& context, ir::Shape a, ir::Shape b) {
  if (a.empty() || b.empty()) return context.error("a scalar cannot be multiplied as a matrix");
  const bool is_row = a.size() == 1;
  const bool is_column = b.size() == 1;
  if (is_row) a.insert(a.begin(), 1);
  if (is_column) b.emplace_back(1);
  const ir::Dim& inner_a = a.back();
  const ir::Dim& inner_b = b[b.size() - 2];
  if (!may_be_equal(inner_a, inner_b)) {
    return context.error("matrices {} and {} do not multiply: {} columns against {} rows",
                         ir::shape_to_string(a), ir::shape_to_string(b), inner_a.to_string(),
                         inner_b.to_string());
  }
  auto batch = broadcast_shapes({a.begin(), a.end() - 2}, {b.begin(), b.end() - 2});
  if (!batch.is_ok()) return context.error("{}", batch.status().message());
  ir::Shape shape = std::move(batch).value();
  if (!is_row) shape.push_back(a[a.size() - 2]);
  if (!is_column) shape.push_back(b.back());
  return shape;
}

Status infer_product(InferenceContext& context, std::size_t b_index, ElementType element) {
  std::optional<ir::Shape> shape;
  if (context.shape(0) != nullptr && context.shape(b_index) != nullptr) {
    shape = SLUICE_TRY(product_shape(context, *context.shape(0), *context.shape(b_index)));
  }
  context.set_output(0, element, std::move(shape));
  return ok_status();
}

Status infer_matmul(InferenceContext& context) {
  return infer_product(context, 1, context.element(0));
}

Status infer_matmul_integer(InferenceContext& context) {
  return infer_product(context, 1, ElementType::kI32);
}

Status infer_qlinear_matmul(InferenceContext& context) {
  return infer_product(context, 3, context.element(7));
}

/// Scales and zero points are as many as B has blocks.
Status check_blocks(const InferenceContext& context, bool is_flipped) {
  const std::int64_t size = context.int_attribute("block_size");
  const bool is_float = ir::is_floating_point(context.element(1));
  if (is_float != !context.has_input(2) || is_float != (size == 0)) {
    return context.error("integers alone have scales and a block_size");
  }
  if (is_float) return ok_status();
  if (size < 1) return context.error("attribute block_size is {}", size);
  const ir::Shape& b = *context.shape(1);
  for (const std::size_t input : {2, 3}) {
    const ir::Shape* shape = context.shape(input);
    if (shape == nullptr || (input == 3 && shape->size() == 1 && (*shape)[0].is(1))) continue;
    const std::size_t blocked = is_flipped ? 1 : 0;
    const bool fits = shape->size() == 2 && b[blocked].is_known() && (*shape)[blocked].is_known() &&
                      (*shape)[1 - blocked] == b[1 - blocked] &&
                      (b[blocked].value() + size - 1) / size == (*shape)[blocked].value();
    if (!fits) {
      return context.error("{} does not fit B {} in blocks of {}", ir::shape_to_string(*shape),
                           ir::shape_to_string(b), size);
    }
  }
  return ok_status();
}

/// The rows of B that A multiplies: a last block that is too long has as many as A has columns.
Result<ir::Dim> multiplied_rows(const InferenceContext& context, const ir::Dim& all,
                                const ir::Shape& a) {
  const std::int64_t size = context.int_attribute("block_size");
  if (size < 1 || a.empty() || !a.back().is_known() || !all.is_known()) return all;
  const std::int64_t k = a.back().value();
  const std::int64_t spare = all.value() - k;
  return spare > 0 && spare < size && all.value() % size == 0 ? a.back() : all;
}

Status infer_narrow_matmul(InferenceContext& context) {
  const ir::Shape* a = context.shape(0);
  const ir::Shape* b = context.shape(1);
  if (b == nullptr || b->size() != 2) return context.error("B must be a matrix");
  const bool is_flipped = context.int_attribute("transB") != 0;
  SLUICE_TRY(check_blocks(context, is_flipped));
  if (a == nullptr) return ok_status();
  ir::Shape straight = *b;
  if (is_flipped) {
    straight = {SLUICE_TRY(multiplied_rows(context, (*b)[1], *a)), (*b)[0]};
  }
  context.set_output(0, context.element(0), SLUICE_TRY(product_shape(context, *a, straight)));
  return ok_status();
}

Status infer_gemm(InferenceContext& context) {
  const ir::Shape* a = context.shape(0);
  const ir::Shape* b = context.shape(1);
  if (a == nullptr || b == nullptr) {
    context.set_output(0, context.element(0),
                       ir::Shape{context.unknown_dim(), context.unknown_dim()});
    return ok_status();
  }
  if (a->size() != 2 || b->size() != 2) {
    return context.error("A {} and B {} must be matrices", ir::shape_to_string(*a),
                         ir::shape_to_string(*b));
  }
  const bool flip_a = context.int_attribute("transA") != 0;
  const bool flip_b = context.int_attribute("transB") != 0;
  const ir::Dim& inner_a = (*a)[flip_a ? 0 : 1];
  const ir::Dim& inner_b = (*b)[flip_b ? 1 : 0];
  if (!may_be_equal(inner_a, inner_b)) {
    return context.error("A {} and B {} do not multiply: {} against {}", ir::shape_to_string(*a),
                         ir::shape_to_string(*b), inner_a.to_string(), inner_b.to_string());
  }
  ir::Shape shape = {(*a)[flip_a ? 1 : 0], (*b)[flip_b ? 0 : 1]};
  if (const ir::Shape* c = context.shape(2)) {
    auto broadcast = broadcast_shapes(shape, *c);
    if (!broadcast.is_ok()) return context.error("C: {}", broadcast.status().message());
    if (c->size() > 2) return context.error("C {} has more than 2 axes", ir::shape_to_string(*c));
    for (std::size_t i = 0; i < 2; ++i) {
      const ir::Dim& joined = (*broadcast)[i];  // a symbol may turn out to be 1
      if (shape[i].is(1) && joined.is_known() && !joined.is(1)) {
        return context.error("C {} does not broadcast to {}", ir::shape_to_string(*c),
                             ir::shape_to_string(shape));
      }
    }
  }
  context.set_output(0, context.element(0), std::move(shape));
  return ok_status();
}

Status infer_det(InferenceContext& context) {
  const ir::Shape* shape = context.shape(0);
  std::optional<ir::Shape> batch;
  if (shape != nullptr) {
    const std::size_t rank = shape->size();
    const bool is_square = rank >= 2 && may_be_equal((*shape)[rank - 2], (*shape)[rank - 1]);
    if (!is_square) return context.error("{} is not square", ir::shape_to_string(*shape));
    batch = ir::Shape(shape->begin(), shape->end() - 2);
  }
  context.set_output(0, context.element(0), std::move(batch));
  return ok_status();
}

/// Versions below 7 only broadcast C when asked to; a C of full size means the same either way.
Status upgrade_gemm(ir::Subgraph& subgraph, ir::Operation& operation) {
  operation.attributes.erase("broadcast");
  return upgrade_unchanged(subgraph, operation);
}

std::vector<OpSchema> float_products() {
  return {
      {.name = "MatMul",
       .versions = {1, 9, 13},
       .doc = "matrix product over the last two axes, broadcast over the others",
       .inputs = {{"A", kProducts, "T"}, {"B", kProducts, "T"}},
       .outputs = {{"Y", kProducts, "T"}},
       .infer = infer_matmul,
       .upgrade = upgrade_unchanged},
      {.name = "Gemm",
       .versions = {1, 6, 7, 9, 11, 13},
       .doc = "alpha * A * B + beta * C, A and B transposed on request",
       .inputs = {{"A", kProducts, "T"}, {"B", kProducts, "T"}, {"C", kProducts, "T", true}},
       .outputs = {{"Y", kProducts, "T"}},
       .attributes = {{"alpha", 1.0F},
                      {"beta", 1.0F},
                      {"transA", std::int64_t{0}},
                      {"transB", std::int64_t{0}}},
       .infer = infer_gemm,
       .upgrade = upgrade_gemm},
      {.name = "Det",
       .versions = {11, 22},
       .doc = "determinant of square matrices",
       .inputs = {{"X", kFloats, "T"}},
       .outputs = {{"Y", kFloats, "T"}},
       .infer = infer_det,
       .upgrade = upgrade_unchanged},
  };
}

}  // namespace

std::vector<OpSchema> matmul_ops() {
  std::vector<OpSchema> ops = float_products();
  ops.push_back({.name = "MatMulInteger",
                 .versions = {10},
                 .doc = "matrix product of integers less their zero points",
                 .inputs = {{"A", kBytes, "T1"},
                            {"B", kBytes, "T2"},
                            {"a_zero_point", kBytes, "T1", true},
                            {"b_zero_point", kBytes, "T2", true}},
                 .outputs = {{"Y", {ElementType::kI32}}},
                 .infer = infer_matmul_integer});
  ops.push_back({.name = "QLinearMatMul",
                 .versions = {10, 21},
                 .doc = "matrix product of quantized tensors, quantized again",
                 .inputs = {{"a", kQuantized, "T1"},
                            {"a_scale", kScales, "TS"},
                            {"a_zero_point", kQuantized, "T1"},
                            {"b", kQuantized, "T2"},
                            {"b_scale", kScales, "TS"},
                            {"b_zero_point", kQuantized, "T2"},
                            {"y_scale", kScales, "TS"},
                            {"y_zero_point", kQuantized, "T3"}},
                 .outputs = {{"y", kQuantized, "T3"}},
                 .infer = infer_qlinear_matmul,
                 .upgrade = upgrade_unchanged});
  constexpr TypeSet kFewBits = {ElementType::kU4, ElementType::kI4, ElementType::kU8,
                                ElementType::kI8};
  ops.push_back({.domain = "sluice",
                 .name = "NarrowMatMul",
                 .versions = {1},
                 .doc = "product of f32 with a matrix of fewer bits",
                 .inputs = {{"A", {ElementType::kF32}},
                            {"B", kFewBits | TypeSet{ElementType::kF16, ElementType::kBf16}},
                            {"scales", {ElementType::kF32}, "", true},
                            {"zeros", kFewBits | TypeSet{ElementType::kF32}, "", true}},
                 .outputs = {{"Y", {ElementType::kF32}}},
                 .attributes = {{"block_size", std::int64_t{0}}, {"transB", std::int64_t{0}}},
                 .infer = infer_narrow_matmul});
  return ops;
}

}  // namespace sluice::ops
