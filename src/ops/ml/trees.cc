// Ensembles of decision trees: TreeEnsemble, TreeEnsembleRegressor, TreeEnsembleClassifier, and
// Sluice's own TreeRegressor and TreeClassifier, which only a pass makes.
//
// TreeRegressor and TreeClassifier compute what the ensembles of almost the same name compute. The
// nodes are the rows of a constant table, f64 [rows, 5]; `roots` lists those of the trees' roots.
//   row of a branch    test (0 to 5, as in TreeEnsemble), feature, split, row of the child where
//                      the test holds, whether NaN counts as true. The other child is the next row.
//                      Children stand behind their parents.
//   row of a leaf      7, target, weight, place of its further weights, 0
// The first `num_nodes` rows are those of nodes. Rows of further weights follow: they look like
// those of leaves, and a leaf has `leaf_weights` - 1 of them. `num_features` is more than any
// feature that a branch tests. The shape function does not read the table; backends check it.
#include <algorithm>

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

/// The table has the rows that the attributes speak of, and the roots are nodes.
Status check_table(const InferenceContext& context, const ir::Dim& columns) {
  const ir::Shape* shape = context.shape(1);
  if (shape == nullptr || shape->size() != 2 || !(*shape)[0].is_known() ||
      !(*shape)[1].is(kTreeColumns)) {
    return context.error("the table {} must have shape [rows, {}]", context.input(1).to_string(),
                         kTreeColumns);
  }
  const std::int64_t nodes = context.int_attribute("num_nodes");
  const std::int64_t rows = (*shape)[0].value();
  if (nodes < 1 || nodes > rows) {
    return context.error("attribute \"num_nodes\" is {}; the table has {} rows", nodes, rows);
  }
  const std::int64_t weights = context.int_attribute("leaf_weights");
  if (weights < 1 || weights > rows) {
    return context.error("attribute \"leaf_weights\" is {}; the table has {} rows", weights, rows);
  }
  const std::int64_t features = context.int_attribute("num_features");
  const std::int64_t most = columns.is_known() ? columns.value() : kMaxTreeFeatures;
  if (features < 1 || features > std::min(most, kMaxTreeFeatures)) {
    return context.error("attribute \"num_features\" is {}; X has {} features", features,
                         columns.to_string());
  }
  const auto roots = SLUICE_TRY(list_attribute<std::int64_t>(context, "roots"));
  if (roots.empty()) return context.error("attribute \"roots\" is empty");
  for (const std::int64_t root : roots) {
    if (root >= 0 && root < nodes) continue;
    return context.error("a root is row {}; there are {} nodes", root, nodes);
  }
  return ok_status();
}

/// `weights` is the prefix of the lists of leaf weights, for trees that are given by lists.
Status check_trees(const InferenceContext& context, const std::string& weights,
                   std::int64_t num_targets, const ir::Dim& columns) {
  SLUICE_TRY(check_base_values(context, num_targets));
  if (context.operation().domain == "sluice") return check_table(context, columns);
  return check_named_trees(context, weights, num_targets, columns);
}

Status infer_regressor(InferenceContext& context) {
  SLUICE_TRY(check_choice(context, "aggregate_function", {"SUM", "AVERAGE", "MIN", "MAX"}));
  SLUICE_TRY(check_post_transform(context));
  const std::int64_t targets = SLUICE_TRY(num_targets(context));
  const Rows rows = SLUICE_TRY(feature_rows(context));
  SLUICE_TRY(check_trees(context, "target", targets, rows.columns));
  context.set_output(0, ir::ElementType::kF32, ir::Shape{rows.rows, targets});
  return ok_status();
}

Status infer_classifier(InferenceContext& context) {
  SLUICE_TRY(check_post_transform(context));
  const ClassLabels labels =
      SLUICE_TRY(class_labels(context, "classlabels_int64s", "classlabels_strings"));
  const Rows rows = SLUICE_TRY(feature_rows(context));
  const auto classes = static_cast<std::int64_t>(labels.count);
  SLUICE_TRY(check_trees(context, "class", classes, rows.columns));
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

/// As the ensemble of lists, with a table in their place.
OpSchema tabulated(const OpSchema& named, std::string_view name, std::string_view doc) {
  OpSchema schema = named;
  schema.domain = "sluice";
  schema.name = name;
  schema.versions = {1};
  schema.upgrade = nullptr;
  schema.doc = doc;
  schema.inputs.push_back({"trees", {ir::ElementType::kF64}});
  schema.attributes.insert(schema.attributes.end(), {{"roots", std::vector<std::int64_t>(), true},
                                                     {"num_nodes", std::int64_t{0}, true},
                                                     {"num_features", std::int64_t{0}, true},
                                                     {"leaf_weights", std::int64_t{0}, true}});
  return schema;
}

}  // namespace

std::vector<OpSchema> tree_ops() {
  OpSchema classifier =
      named_trees("TreeEnsembleClassifier",
                  "label and scores of the classes, from the votes of trees", infer_classifier, {});
  classifier.outputs = {{"Y", kLabels}, {"Z", {ir::ElementType::kF32}}};
  OpSchema regressor =
      named_trees("TreeEnsembleRegressor",
                  "sum, mean, minimum or maximum of the trees' values; with one target, a leaf's "
                  "first weight is its value",
                  infer_regressor,
                  {{"aggregate_function", std::string("SUM")}, {"n_targets", std::int64_t{1}}});
  OpSchema table_regressor =
      tabulated(regressor, "TreeRegressor", "TreeEnsembleRegressor of trees in a table");
  OpSchema table_classifier =
      tabulated(classifier, "TreeClassifier", "TreeEnsembleClassifier of trees in a table");
  return {
      std::move(regressor),
      std::move(classifier),
      std::move(table_regressor),
      std::move(table_classifier),
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
