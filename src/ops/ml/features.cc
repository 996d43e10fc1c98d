// Preparing features: Scaler, Normalizer, Binarizer, Imputer, ArrayFeatureExtractor,
// FeatureVectorizer.
#include <algorithm>
#include <utility>

#include "ops/families.h"
#include "ops/ml/ml.h"

namespace sluice::ops {
namespace {

Status infer_scaler(InferenceContext& context) {
  const Rows rows = SLUICE_TRY(feature_rows(context));
  for (const char* name : {"offset", "scale"}) {
    const auto list = SLUICE_TRY(list_attribute<float>(context, name));
    SLUICE_TRY(check_per_feature(context, name, list.size(), rows.columns));
  }
  set_like_input(context, ir::ElementType::kF32);
  return ok_status();
}

Status infer_normalizer(InferenceContext& context) {
  SLUICE_TRY(check_choice(context, "norm", {"MAX", "L1", "L2"}));
  SLUICE_TRY(feature_rows(context));
  set_like_input(context, ir::ElementType::kF32);
  return ok_status();
}

Status infer_imputer(InferenceContext& context) {
  const Rows rows = SLUICE_TRY(feature_rows(context));
  const auto floats = SLUICE_TRY(list_attribute<float>(context, "imputed_value_floats"));
  const auto ints = SLUICE_TRY(list_attribute<std::int64_t>(context, "imputed_value_int64s"));
  if (ir::is_integer(context.element(0))) {
    SLUICE_TRY(check_per_feature(context, "imputed_value_int64s", ints.size(), rows.columns));
  } else {
    SLUICE_TRY(check_per_feature(context, "imputed_value_floats", floats.size(), rows.columns));
  }
  return infer_same_as_input(context);
}

/// The last axis takes the selected columns; a single row stays a row.
Status infer_extractor(InferenceContext& context) {
  const ir::Shape* data = context.shape(0);
  const ir::Shape* indices = context.shape(1);
  if (data == nullptr) return ok_status();
  if (data->empty()) return context.error("X is a scalar; it has no columns");
  ir::Dim count = indices == nullptr ? context.unknown_dim() : ir::Dim(1);
  if (indices != nullptr) {
    for (const ir::Dim& dim : *indices) count = count * dim;
  }
  if (count.is(0)) return context.error("Y names no columns");
  if (const auto columns = context.static_values(1); columns && data->back().is_known()) {
    for (const std::int64_t column : *columns) {
      if (column >= 0 && column < data->back().value()) continue;
      return context.error("Y names column {}; X {} has {}", column, ir::shape_to_string(*data),
                           data->back().value());
    }
  }
  ir::Shape shape(data->begin(), data->end() - 1);
  if (data->size() == 1) shape.emplace_back(1);
  shape.push_back(std::move(count));
  context.set_output(0, context.element(0), std::move(shape));
  return ok_status();
}

Status infer_vectorizer(InferenceContext& context) {
  const auto sizes = SLUICE_TRY(list_attribute<std::int64_t>(context, "inputdimensions"));
  if (sizes.size() != context.num_inputs()) {
    return context.error("attribute \"inputdimensions\" has {} entries; there are {} inputs",
                         sizes.size(), context.num_inputs());
  }
  ir::Dim columns = 0;
  for (const std::int64_t size : sizes) {
    if (size < 0) return context.error("attribute \"inputdimensions\" has {}", size);
    columns = columns + ir::Dim(size);
  }
  ir::Dim rows = context.unknown_dim();
  for (std::size_t i = 0; i < context.num_inputs(); ++i) {
    const ir::Shape* shape = context.shape(i);
    if (shape == nullptr) continue;
    if (shape->empty() || shape->size() > 2) {
      return context.error("input {} {} must have shape [rows, features] or [features]", i,
                           ir::shape_to_string(*shape));
    }
    // A vector is one row.
    const ir::Dim own = shape->size() == 1 ? ir::Dim(1) : (*shape)[0];
    if (!may_be_equal(rows, own)) {
      return context.error("input {} {} has {} rows, another {}", i, ir::shape_to_string(*shape),
                           own.value(), rows.value());
    }
    // A known number of rows replaces a symbol and is never replaced by one.
    if (i == 0 || own.is_known()) rows = own;
  }
  context.set_output(0, ir::ElementType::kF32, ir::Shape{std::move(rows), std::move(columns)});
  return ok_status();
}

OpSchema same_type(OpSchema schema) {
  schema.outputs = {{"Y", kFeatures, "T"}};
  return schema;
}

}  // namespace

std::vector<OpSchema> feature_ops() {
  OpSchema extractor =
      ml_schema("ArrayFeatureExtractor", "the columns with the indices Y", infer_extractor, {});
  extractor.inputs = {{"X", kFeatures | kStrings, "T"}, {"Y", kI64Only}};
  extractor.outputs = {{"Z", kFeatures | kStrings, "T"}};
  OpSchema vectorizer =
      ml_schema("FeatureVectorizer", "inputs side by side, as floats", infer_vectorizer, {});
  vectorizer.inputs = {{.name = "X", .types = kFeatures, .is_variadic = true}};
  return {
      ml_schema("Scaler", "(x - offset) * scale, per feature or for all", infer_scaler, {}),
      ml_schema("Normalizer", "each row divided by its norm", infer_normalizer,
                {{"norm", std::string("MAX")}}),
      same_type(ml_schema("Binarizer", "1 where x is above the threshold, 0 elsewhere",
                          infer_same_as_input, {{"threshold", 0.0F}})),
      same_type(
          ml_schema("Imputer", "replaces one value, or NaN, by another per feature", infer_imputer,
                    {{"replaced_value_float", 0.0F}, {"replaced_value_int64", std::int64_t{0}}})),
      std::move(extractor),
      std::move(vectorizer),
  };
}

}  // namespace sluice::ops
