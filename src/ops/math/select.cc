// Results whose size depends on the elements: Compress, NonZero, Unique.
#include <algorithm>

#include "ops/families.h"
#include "ops/inference.h"
#include "ops/values.h"

namespace sluice::ops {
namespace {

Status infer_nonzero(InferenceContext& context) {
  const ir::Shape* input = context.shape(0);
  if (input == nullptr) {
    context.set_output(0, ir::ElementType::kI64, unknown_shape(context, 2));
    return ok_status();
  }
  // A scalar counts as a vector of one.
  const auto rank = std::max<std::int64_t>(1, static_cast<std::int64_t>(input->size()));
  context.set_output(0, ir::ElementType::kI64,
                     ir::Shape{rank, context.data_dependent_dim(product(*input))});
  return ok_status();
}

/// The axis that `name` gives, or nullopt: the tensor counts as flat.
Result<std::optional<std::size_t>> optional_axis(const InferenceContext& context,
                                                 const ir::Shape& shape) {
  const auto* axis = context.attributes().find<std::int64_t>("axis");
  if (axis == nullptr) return std::optional<std::size_t>();
  return std::optional(SLUICE_TRY(context.axis(*axis, shape.size())));
}

Status infer_compress(InferenceContext& context) {
  const ir::Shape* input = context.shape(0);
  const ir::Shape* condition = context.shape(1);
  if (input == nullptr) return ok_status();
  if (condition != nullptr && condition->size() != 1) {
    return context.error("the condition must be a vector, not {}", ir::shape_to_string(*condition));
  }
  const auto axis = SLUICE_TRY(optional_axis(context, *input));
  const ir::Dim whole = axis ? (*input)[*axis] : product(*input);
  const ir::Dim kept =
      context.data_dependent_dim(condition != nullptr ? min(whole, condition->front()) : whole);
  ir::Shape result = axis ? *input : ir::Shape{kept};
  if (axis) result[*axis] = kept;
  context.set_output(0, context.element(0), std::move(result));
  return ok_status();
}

/// Outputs: the distinct values, where each stands first, which of them each element is, and how
/// often each stands.
Status infer_unique(InferenceContext& context) {
  const ir::Shape* input = context.shape(0);
  const ir::ElementType element = context.element(0);
  if (input == nullptr) {
    for (std::size_t i = 1; i < 4; ++i) {
      context.set_output(i, ir::ElementType::kI64, unknown_shape(context, 1));
    }
    return ok_status();
  }
  const auto axis = SLUICE_TRY(optional_axis(context, *input));
  const ir::Dim whole = axis ? (*input)[*axis] : product(*input);
  const ir::Dim distinct = context.data_dependent_dim(whole);
  ir::Shape values = axis ? *input : ir::Shape{distinct};
  if (axis) values[*axis] = distinct;
  context.set_output(0, element, std::move(values));
  context.set_output(1, ir::ElementType::kI64, ir::Shape{distinct});
  context.set_output(2, ir::ElementType::kI64, ir::Shape{whole});
  context.set_output(3, ir::ElementType::kI64, ir::Shape{distinct});
  return ok_status();
}

OpSchema selection(std::string_view name, std::vector<int> versions, std::string_view doc,
                   InferFn infer) {
  return {.name = name,
          .versions = std::move(versions),
          .doc = doc,
          .inputs = {{.name = "input", .types = kAllTensors, .variable = "T"}},
          .outputs = {{.name = "output", .types = kAllTensors, .variable = "T"}},
          .infer = infer,
          .traits = kDataDependentShape};
}

}  // namespace

std::vector<OpSchema> select_ops() {
  OpSchema compress =
      selection("Compress", {9, 11, 28}, "slices where a condition holds", infer_compress);
  compress.inputs.push_back({.name = "condition", .types = kBools});
  OpSchema nonzero = selection(
      "NonZero", {9, 13}, "coordinates of the nonzero elements, one column each", infer_nonzero);
  nonzero.outputs = {{.name = "Y", .types = kI64Only}};
  OpSchema unique =
      selection("Unique", {11, 28}, "distinct elements or slices, with positions", infer_unique);
  unique.attributes = {{.name = "sorted", .default_value = std::int64_t{1}}};
  for (const std::string_view name : {"indices", "inverse_indices", "counts"}) {
    unique.outputs.push_back({.name = name, .types = kI64Only, .is_optional = true});
  }
  return {std::move(compress), std::move(nonzero), std::move(unique)};
}

}  // namespace sluice::ops
