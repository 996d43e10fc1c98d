// Linear models and support vector machines.
#include "base/checked.h"
#include "ops/families.h"
#include "ops/ml/ml.h"

namespace sluice::ops {
namespace {

using Floats = std::span<const float>;

/// `coefficients` has a row of `columns` entries per result.
Status check_coefficients(const InferenceContext& context, std::size_t results,
                          const ir::Dim& columns) {
  const Floats coefficients = SLUICE_TRY(list_attribute<float>(context, "coefficients"));
  const auto count = static_cast<std::int64_t>(coefficients.size());
  const auto rows = static_cast<std::int64_t>(results);
  const bool fits = columns.is_known() ? (columns * rows).is(count) : count % rows == 0;
  if (count > 0 && fits) return ok_status();
  return context.error("attribute \"coefficients\" has {} entries; it needs {} rows of {} features",
                       count, rows, columns.to_string());
}

Status infer_linear_regressor(InferenceContext& context) {
  SLUICE_TRY(check_post_transform(context));
  const std::int64_t targets = context.int_attribute("targets");
  if (targets < 1) return context.error("attribute \"targets\" is {}", targets);
  const Rows rows = SLUICE_TRY(feature_rows(context));
  SLUICE_TRY(check_coefficients(context, static_cast<std::size_t>(targets), rows.columns));
  const Floats intercepts = SLUICE_TRY(list_attribute<float>(context, "intercepts"));
  if (!intercepts.empty() && intercepts.size() != static_cast<std::size_t>(targets)) {
    return context.error("attribute \"intercepts\" has {} entries; there are {} targets",
                         intercepts.size(), targets);
  }
  context.set_output(0, ir::ElementType::kF32, ir::Shape{rows.rows, targets});
  return ok_status();
}

Status infer_linear_classifier(InferenceContext& context) {
  SLUICE_TRY(check_post_transform(context));
  const ClassLabels labels =
      SLUICE_TRY(class_labels(context, "classlabels_ints", "classlabels_strings"));
  const Rows rows = SLUICE_TRY(feature_rows(context));
  const Floats intercepts = SLUICE_TRY(list_attribute<float>(context, "intercepts"));
  // One score may stand for two classes.
  const std::size_t scores = intercepts.size();
  if (scores == 0 || (scores != labels.count && !(scores == 1 && labels.count == 2))) {
    return context.error("attribute \"intercepts\" has {} entries; there are {} classes", scores,
                         labels.count);
  }
  SLUICE_TRY(check_coefficients(context, scores, rows.columns));
  set_class_outputs(context, labels, rows.rows, static_cast<std::int64_t>(labels.count));
  return ok_status();
}

// ---- support vectors ----------------------------------------------------------------------------

Status check_kernel(const InferenceContext& context) {
  SLUICE_TRY(check_choice(context, "kernel_type", {"LINEAR", "POLY", "RBF", "SIGMOID"}));
  SLUICE_TRY(check_post_transform(context));
  const Floats parameters = SLUICE_TRY(list_attribute<float>(context, "kernel_params"));
  // Absent parameters are the kernels' defaults.
  if (parameters.empty() || parameters.size() == 3) return ok_status();
  return context.error("attribute \"kernel_params\" has {} entries; it needs gamma, coef0, degree",
                       parameters.size());
}

Status check_vectors(const InferenceContext& context, std::int64_t vectors,
                     const ir::Dim& columns) {
  const Floats values = SLUICE_TRY(list_attribute<float>(context, "support_vectors"));
  const auto count = static_cast<std::int64_t>(values.size());
  const bool fits = columns.is_known() ? (columns * vectors).is(count) : count % vectors == 0;
  if (fits) return ok_status();
  return context.error("attribute \"support_vectors\" has {} entries; it needs {} rows of {}",
                       count, vectors, columns.to_string());
}

Status check_size(const InferenceContext& context, std::string_view name, std::size_t wanted) {
  const Floats values = SLUICE_TRY(list_attribute<float>(context, name));
  if (values.size() == wanted) return ok_status();
  return context.error("attribute \"{}\" has {} entries; it needs {}", name, values.size(), wanted);
}

Status infer_svm_regressor(InferenceContext& context) {
  SLUICE_TRY(check_kernel(context));
  SLUICE_TRY(check_size(context, "rho", 1));
  const Rows rows = SLUICE_TRY(feature_rows(context));
  const std::int64_t vectors = context.int_attribute("n_supports");
  if (vectors < 0) return context.error("attribute \"n_supports\" is {}", vectors);
  // Without support vectors the model is linear, and coefficients are the weights of the features.
  if (vectors == 0) {
    SLUICE_TRY(check_coefficients(context, 1, rows.columns));
  } else {
    SLUICE_TRY(check_size(context, "coefficients", static_cast<std::size_t>(vectors)));
    SLUICE_TRY(check_vectors(context, vectors, rows.columns));
  }
  context.set_output(0, ir::ElementType::kF32, ir::Shape{rows.rows, 1});
  return ok_status();
}

/// Support vectors of all classes; 0 for a linear model.
Result<std::int64_t> count_vectors(const InferenceContext& context, std::size_t classes) {
  const auto per_class = SLUICE_TRY(list_attribute<std::int64_t>(context, "vectors_per_class"));
  if (!per_class.empty() && per_class.size() != classes) {
    return context.error("attribute \"vectors_per_class\" has {} entries; there are {} classes",
                         per_class.size(), classes);
  }
  ir::Dim sum = 0;
  for (const std::int64_t count : per_class) {
    if (count < 0) return context.error("attribute \"vectors_per_class\" has {}", count);
    sum = sum + ir::Dim(count);
  }
  if (sum.is_overflow()) return context.error("attribute \"vectors_per_class\" passes 64 bits");
  return sum.value();
}

Status infer_svm_classifier(InferenceContext& context) {
  SLUICE_TRY(check_kernel(context));
  const ClassLabels labels =
      SLUICE_TRY(class_labels(context, "classlabels_ints", "classlabels_strings"));
  const Rows rows = SLUICE_TRY(feature_rows(context));
  const std::int64_t vectors = SLUICE_TRY(count_vectors(context, labels.count));
  // One vote per pair of classes. With probabilities, or two classes, there is a score per class.
  const std::size_t pairs = labels.count * (labels.count - 1) / 2;
  std::size_t columns = labels.count;
  if (vectors == 0) {
    SLUICE_TRY(check_size(context, "rho", 1));
    SLUICE_TRY(check_coefficients(context, labels.count, rows.columns));
  } else {
    if (labels.count < 2) return context.error("it has {} classes; 2 are supported", labels.count);
    SLUICE_TRY(check_size(context, "rho", pairs));
    SLUICE_TRY(check_vectors(context, vectors, rows.columns));
    // The number of vectors is the file's: without columns nothing else bounds it.
    const auto coefficients = checked_mul(static_cast<std::int64_t>(labels.count) - 1, vectors);
    if (!coefficients) return context.error("it has {} vectors, too many to count", vectors);
    SLUICE_TRY(check_size(context, "coefficients", static_cast<std::size_t>(*coefficients)));
    const std::size_t given = SLUICE_TRY(list_attribute<float>(context, "prob_a")).size();
    if (given > 0) SLUICE_TRY(check_size(context, "prob_a", pairs));
    SLUICE_TRY(check_size(context, "prob_b", given));
    if (given == 0 && labels.count > 2) columns = pairs;
  }
  set_class_outputs(context, labels, rows.rows, static_cast<std::int64_t>(columns));
  return ok_status();
}

OpSchema classifier(OpSchema schema) {
  schema.outputs = {{"Y", kLabels}, {"Z", {ir::ElementType::kF32}}};
  return schema;
}

}  // namespace

std::vector<OpSchema> linear_model_ops() {
  return {
      ml_schema("LinearRegressor", "X * coefficients^T + intercepts", infer_linear_regressor,
                {{"post_transform", std::string("NONE")}, {"targets", std::int64_t{1}}}),
      classifier(
          ml_schema("LinearClassifier", "label and scores of X * coefficients^T + intercepts",
                    infer_linear_classifier,
                    {{"multi_class", std::int64_t{0}}, {"post_transform", std::string("NONE")}})),
      ml_schema("SVMRegressor", "weighted kernels of the rows with support vectors",
                infer_svm_regressor,
                {{"kernel_type", std::string("LINEAR")},
                 {"n_supports", std::int64_t{0}},
                 {"one_class", std::int64_t{0}},
                 {"post_transform", std::string("NONE")}}),
      classifier(ml_schema(
          "SVMClassifier", "label and scores of a support vector machine", infer_svm_classifier,
          {{"kernel_type", std::string("LINEAR")}, {"post_transform", std::string("NONE")}})),
  };
}

}  // namespace sluice::ops
