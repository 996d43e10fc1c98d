#include "ops/ml/ml.h"

#include <utility>

namespace sluice::ops {

Result<Rows> feature_rows(InferenceContext& context) {
  const ir::Shape* shape = context.shape(0);
  if (shape == nullptr) return Rows{context.unknown_dim(), context.unknown_dim()};
  // A vector is one row.
  if (shape->size() == 1) return Rows{1, (*shape)[0]};
  if (shape->size() == 2) return Rows{(*shape)[0], (*shape)[1]};
  return context.error("X {} must have shape [rows, features] or [features]",
                       ir::shape_to_string(*shape));
}

Status check_per_feature(const InferenceContext& context, std::string_view name, std::size_t size,
                         const ir::Dim& columns) {
  const auto count = static_cast<std::int64_t>(size);
  if (count == 0) return context.error("attribute \"{}\" is missing or empty", name);
  // One entry stands for all features.
  if (count == 1 || !columns.is_known() || columns.is(count)) return ok_status();
  return context.error("attribute \"{}\" has {} entries; it needs 1, or {}, one per feature", name,
                       count, columns.value());
}

Status check_post_transform(const InferenceContext& context) {
  return check_choice(context, "post_transform",
                      {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"});
}

Result<ClassLabels> class_labels(const InferenceContext& context, std::string_view ints,
                                 std::string_view texts) {
  const auto numbers = SLUICE_TRY(list_attribute<std::int64_t>(context, ints));
  const auto words = SLUICE_TRY(list_attribute<std::string>(context, texts));
  if (numbers.empty() == words.empty()) {
    return context.error("it takes either attribute \"{}\" or \"{}\", with a label per class", ints,
                         texts);
  }
  if (words.empty()) return ClassLabels{numbers.size(), ir::ElementType::kI64};
  return ClassLabels{words.size(), ir::ElementType::kString};
}

void set_class_outputs(InferenceContext& context, const ClassLabels& labels, const ir::Dim& rows,
                       ir::Dim columns) {
  context.set_output(0, labels.element, ir::Shape{rows});
  context.set_output(1, ir::ElementType::kF32, ir::Shape{rows, std::move(columns)});
}

OpSchema ml_schema(std::string_view name, std::string_view doc, InferFn infer,
                   std::vector<AttributeSpec> attributes) {
  return {.domain = kMlDomain,
          .name = name,
          .versions = {1},
          .doc = doc,
          .inputs = {{"X", kFeatures, "T"}},
          .outputs = {{"Y", {ir::ElementType::kF32}}},
          .attributes = std::move(attributes),
          .infer = infer};
}

}  // namespace sluice::ops
