// RoutedMatMul: a product of each row with the matrices that the row is routed to.
//
//   Y [T, J, N]: Y[t, j] = W[routes[t, j]] A[t], or of A[t, j]
//
// A is f32 [T, K], a row for each token, or [T, J, K], one for each of its J matrices. B [E, N, K]
// has E matrices: W is B of f32, f16 or bf16, or (B - zeros) * scales of u4, i4, u8 or i8. Scales
// f32 and zeros [E, N, K / s] are those of blocks of `block_size` s places along K. Routes i64
// [T, J] are checked in each run: at least 0 and below E, or -1, which makes zeros.
//
// Only those matrices of B are read that a row is routed to, so a mixture of experts costs what its
// chosen experts cost. If `sluice_weights` is "int8", a kernel may round rows of A to 8 bits.
#include "ops/families.h"
#include "ops/inference.h"

namespace sluice::ops {
namespace {

using ir::ElementType;

enum RoutedInput : std::size_t {
  kRoutedRows,
  kRoutedMatrices,
  kRoutedScales,
  kRoutedZeros,
  kRoutes
};

constexpr TypeSet kRoutedTypes = {ElementType::kF32, ElementType::kF16, ElementType::kBf16,
                                  ElementType::kU4,  ElementType::kI4,  ElementType::kU8,
                                  ElementType::kI8};

/// Scales and zero points are as many as B has blocks.
Status check_scales(const InferenceContext& context, const ir::Shape& b) {
  const std::int64_t size = context.int_attribute("block_size");
  const bool is_float = ir::is_floating_point(context.element(kRoutedMatrices));
  if (is_float != !context.has_input(kRoutedScales) || is_float != (size == 0)) {
    return context.error("integers alone have scales and a block_size");
  }
  if (is_float) return ok_status();
  if (size < 1) return context.error("attribute block_size is {}", size);
  for (const std::size_t input : {kRoutedScales, kRoutedZeros}) {
    const ir::Shape* shape = context.shape(input);
    if (shape == nullptr) continue;
    const bool fits = shape->size() == 3 && may_be_equal((*shape)[0], b[0]) &&
                      may_be_equal((*shape)[1], b[1]) && b[2].is_known() &&
                      (*shape)[2].is_known() && b[2].value() % size == 0 &&
                      b[2].value() / size == (*shape)[2].value();
    if (!fits) {
      return context.error("{} does not fit B {} in blocks of {}", ir::shape_to_string(*shape),
                           ir::shape_to_string(b), size);
    }
  }
  return ok_status();
}

Status infer_routed_matmul(InferenceContext& context) {
  const ir::Shape* a = context.shape(kRoutedRows);
  const ir::Shape* b = context.shape(kRoutedMatrices);
  const ir::Shape* routes = context.shape(kRoutes);
  if (b == nullptr || b->size() != 3) return context.error("B must be a stack of matrices");
  SLUICE_TRY(check_scales(context, *b));
  if (a == nullptr || routes == nullptr) return ok_status();
  const bool is_ranked = (a->size() == 2 || a->size() == 3) && routes->size() == 2;
  if (!is_ranked || !may_be_equal(a->front(), routes->front()) ||
      (a->size() == 3 && !may_be_equal((*a)[1], (*routes)[1]))) {
    return context.error("A {} and routes {} do not fit", ir::shape_to_string(*a),
                         ir::shape_to_string(*routes));
  }
  if (!may_be_equal(a->back(), b->back())) {
    return context.error("A {} and B {} do not multiply", ir::shape_to_string(*a),
                         ir::shape_to_string(*b));
  }
  context.set_output(0, context.element(kRoutedRows),
                     ir::Shape{routes->front(), routes->back(), (*b)[1]});
  return ok_status();
}

}  // namespace

std::vector<OpSchema> routed_ops() {
  return {{.domain = "sluice",
           .name = "RoutedMatMul",
           .versions = {1},
           .doc = "products of rows with the matrices that they are routed to",
           .inputs = {{"A", {ElementType::kF32}},
                      {"B", kRoutedTypes, "B"},
                      {"scales", {ElementType::kF32}, "", true},
                      {"zeros", kRoutedTypes, "", true},
                      {"routes", kI64Only}},
           .outputs = {{"Y", {ElementType::kF32}}},
           .attributes = {{"block_size", std::int64_t{0}}},
           .infer = infer_routed_matmul}};
}

}  // namespace sluice::ops
