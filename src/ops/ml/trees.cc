// Ensembles of decision trees: TreeEnsemble, TreeEnsembleRegressor, TreeEnsembleClassifier.
#include "ops/families.h"
#include "ops/ml/ml.h"
#include "ops/ml/tree_check.h"

namespace sluice::ops {
namespace {

constexpr TypeSet kTreeFloats = {ir::ElementType::kF32, ir::ElementType::kF64,
                                 ir::ElementType::kF16};
constexpr std::int64_t kLastTransform = 4;  // NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO, PROBIT
constexpr std::int64_t kLastAggregate = 3;  // AVERAGE, SUM, MIN, MAX

Result<std::int64_t> num_targets(const InferenceContext& context) {
  constexpr std::int64_t kMax = std::int64_t{1} << 24;
  const std::int64_t targets = context.int_attribute("n_targets");
  if (targets >= 1 && targets <= kMax) return targets;
  return context.error("attribute \"n_targets\" is {}; it must be 1 to {}", targets, kMax);
}

Status infer_regressor(InferenceContext& context) {
  static constexpr std::string_view kAggregates[] = {"SUM", "AVERAGE", "MIN", "MAX"};
  SLUICE_TRY(check_choice(context, "aggregate_function", kAggregates));
  SLUICE_TRY(check_post_transform(context));
  const std::int64_t targets = SLUICE_TRY(num_targets(context));
  const Rows rows = SLUICE_TRY(feature_rows(context));
  SLUICE_TRY(check_named_trees(context, "target", targets, rows.columns));
  context.set_output(0, ir::ElementType::kF32, ir::Shape{rows.rows, targets});
  return ok_status();
}

Status infer_classifier(InferenceContext& context) {
  SLUICE_TRY(check_post_transform(context));
  const ClassLabels labels =
      SLUICE_TRY(class_labels(context, "classlabels_int64s", "classlabels_strings"));
  const Rows rows = SLUICE_TRY(feature_rows(context));
  const auto classes = static_cast<std::int64_t>(labels.count);
  SLUICE_TRY(check_named_trees(context, "class", classes, rows.columns));
  set_class_outputs(context, labels, rows.rows, classes);
  return ok_status();
}

Status infer_ensemble(InferenceContext& context) {
  const std::int64_t transform = context.int_attribute("post_transform");
  if (transform < 0 || transform > kLastTransform) {
    return context.error("attribute \"post_transform\" is {}; it must be 0 to {}", transform,
                         kLastTransform);
  }
  const std::int64_t aggregate = context.int_attribute("aggregate_function");
  if (aggregate < 0 || aggregate > kLastAggregate) {
    return context.error("attribute \"aggregate_function\" is {}; it must be 0 to {}", aggregate,
                         kLastAggregate);
  }
  const std::int64_t targets = SLUICE_TRY(num_targets(context));
  const Rows rows = SLUICE_TRY(feature_rows(context));
  SLUICE_TRY(check_placed_trees(context, targets, rows.columns));
  context.set_output(0, context.element(0), ir::Shape{rows.rows, targets});
  return ok_status();
}

/// Versions 1, 3 and 5 differ in their optional lists; the newest version has all of them.
OpSchema named_trees(std::string_view name, std::string_view doc, InferFn infer,
                     std::vector<AttributeSpec> attributes) {
  attributes.push_back({"post_transform", std::string("NONE")});
  OpSchema schema = ml_schema(name, doc, infer, std::move(attributes));
  schema.versions = {1, 3, 5};
  schema.upgrade = upgrade_unchanged;
  return schema;
}

}  // namespace

std::vector<OpSchema> tree_ops() {
  OpSchema classifier =
      named_trees("TreeEnsembleClassifier",
                  "label and scores of the classes, from the votes of trees", infer_classifier, {});
  classifier.outputs = {{"Y", kLabels}, {"Z", {ir::ElementType::kF32}}};
  return {
      named_trees("TreeEnsembleRegressor", "sum, mean, minimum or maximum of the trees' values",
                  infer_regressor,
                  {{"aggregate_function", std::string("SUM")}, {"n_targets", std::int64_t{1}}}),
      std::move(classifier),
      {.domain = kMlDomain,
       .name = "TreeEnsemble",
       .versions = {5},
       .doc = "sum, mean, minimum or maximum of the trees' values, per target",
       .inputs = {{"X", kTreeFloats, "T"}},
       .outputs = {{"Y", kTreeFloats, "T"}},
       .attributes = {{"aggregate_function", std::int64_t{1}},
                      {"n_targets", std::int64_t{1}},
                      {"post_transform", std::int64_t{0}}},
       .infer = infer_ensemble},
  };
}

}  // namespace sluice::ops
