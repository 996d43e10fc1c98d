// Operators of Sluice's own that lowerings of ai.onnx.ml need and ONNX does not have.
#include <utility>

#include "ops/families.h"
#include "ops/ml/ml.h"

namespace sluice::ops {
namespace {

Status infer_find_key(InferenceContext& context) {
  const ir::Shape* keys = context.shape(1);
  if (keys != nullptr && keys->size() != 1) {
    return context.error("keys {} must be a vector", ir::shape_to_string(*keys));
  }
  set_like_input(context, ir::ElementType::kI64);
  return ok_status();
}

Status infer_distances(InferenceContext& context) {
  const ir::Shape* a = context.shape(0);
  const ir::Shape* b = context.shape(1);
  for (const ir::Shape* shape : {a, b}) {
    if (shape == nullptr || shape->size() == 2) continue;
    return context.error("{} must have shape [rows, columns]", ir::shape_to_string(*shape));
  }
  if (a && b && !may_be_equal((*a)[1], (*b)[1])) {
    return context.error("the rows of {} and {} differ in length", ir::shape_to_string(*a),
                         ir::shape_to_string(*b));
  }
  ir::Dim rows = a ? (*a)[0] : context.unknown_dim();
  ir::Dim columns = b ? (*b)[0] : context.unknown_dim();
  context.set_output(0, context.element(0), ir::Shape{std::move(rows), std::move(columns)});
  return ok_status();
}

Status infer_couple(InferenceContext& context) {
  constexpr std::int64_t kMax = 1 << 16;
  const std::int64_t classes = context.int_attribute("classes");
  if (classes < 2 || classes > kMax) {
    return context.error("attribute \"classes\" is {}; it must be 2 to {}", classes, kMax);
  }
  const Rows rows = SLUICE_TRY(feature_rows(context));
  if (rows.columns.is_known() && !rows.columns.is(classes * (classes - 1) / 2)) {
    return context.error("X has {} columns; {} classes have {} pairs", rows.columns.value(),
                         classes, classes * (classes - 1) / 2);
  }
  context.set_output(0, context.element(0), ir::Shape{rows.rows, classes});
  return ok_status();
}

}  // namespace

std::vector<OpSchema> ml_step_ops() {
  return {
      {.domain = "sluice",
       .name = "FindKey",
       .versions = {1},
       .doc = "index of the last equal key of each element; the number of keys if absent",
       .inputs = {{"X", kKeys, "T"}, {"keys", kKeys, "T"}},
       .outputs = {{"places", kI64Only}},
       .attributes = {{"must_find", std::int64_t{0}}},
       .infer = infer_find_key},
      {.domain = "sluice",
       .name = "SquaredDistances",
       .versions = {1},
       .doc = "squared Euclidean distances of all rows of A from all rows of B",
       .inputs = {{"A", kFloats, "T"}, {"B", kFloats, "T"}},
       .outputs = {{"Y", kFloats, "T"}},
       .infer = infer_distances},
      {.domain = "sluice",
       .name = "CouplePairs",
       .versions = {1},
       .doc = "class probabilities from pairwise probabilities",
       .inputs = {{"X", {ir::ElementType::kF32}}},
       .outputs = {{"Y", {ir::ElementType::kF32}}},
       .attributes = {{"classes", std::int64_t{2}}},
       .infer = infer_couple},
  };
}

}  // namespace sluice::ops
