// Operators on maps. A map is a row here, with a column per key in the order in which the operator
// lists its keys, and a list of maps a matrix: these operators name columns and move no number.
// Import declares inputs and outputs that are maps so (onnx/maps.h).
#include "ops/families.h"
#include "ops/ml/ml.h"

namespace sluice::ops {
namespace {

using ir::ElementType;

constexpr TypeSet kMapValues = {ElementType::kI64, ElementType::kF32, ElementType::kF64,
                                ElementType::kString};

Result<ir::Dim> rows_of_columns(InferenceContext& context, std::size_t count) {
  const Rows rows = SLUICE_TRY(feature_rows(context));
  if (!rows.columns.is_known() || rows.columns.is(static_cast<std::int64_t>(count))) {
    return rows.rows;
  }
  return context.error("it lists {} keys; X {} has {} columns", count,
                       ir::shape_to_string(*context.shape(0)), rows.columns.value());
}

Status infer_zip_map(InferenceContext& context) {
  const ClassLabels labels =
      SLUICE_TRY(class_labels(context, "classlabels_int64s", "classlabels_strings"));
  const ir::Dim rows = SLUICE_TRY(rows_of_columns(context, labels.count));
  const auto columns = static_cast<std::int64_t>(labels.count);
  context.set_output(0, ElementType::kF32, ir::Shape{rows, ir::Dim(columns)});
  return ok_status();
}

Status infer_dict_vectorizer(InferenceContext& context) {
  const ClassLabels keys =
      SLUICE_TRY(class_labels(context, "int64_vocabulary", "string_vocabulary"));
  const ir::Dim rows = SLUICE_TRY(rows_of_columns(context, keys.count));
  const auto columns = static_cast<std::int64_t>(keys.count);
  context.set_output(0, context.element(0), ir::Shape{rows, ir::Dim(columns)});
  return ok_status();
}

Status infer_cast_map(InferenceContext& context) {
  SLUICE_TRY(check_choice(context, "cast_to", {"TO_FLOAT", "TO_INT64", "TO_STRING"}));
  SLUICE_TRY(check_choice(context, "map_form", {"DENSE", "SPARSE"}));
  Rows rows = SLUICE_TRY(feature_rows(context));
  if (context.text_attribute("map_form") == "SPARSE") {
    const std::int64_t count = context.int_attribute("max_map");
    if (count < 1) return context.error("attribute \"max_map\" is {}; it counts columns", count);
    rows.rows = SLUICE_TRY(rows_of_columns(context, static_cast<std::size_t>(count)));
    rows.columns = count;
  }
  const std::string target = context.text_attribute("cast_to");
  context.set_output(0,
                     target == "TO_FLOAT"   ? ElementType::kF32
                     : target == "TO_INT64" ? ElementType::kI64
                                            : ElementType::kString,
                     ir::Shape{rows.rows, rows.columns});
  return ok_status();
}

OpSchema map_schema(std::string_view name, std::string_view doc, InferFn infer, TypeSet from,
                    TypeSet to, std::vector<AttributeSpec> attributes = {}) {
  OpSchema schema = ml_schema(name, doc, infer, std::move(attributes));
  schema.inputs = {{"X", from, "T"}};
  schema.outputs = {{"Y", to}};
  return schema;
}

}  // namespace

std::vector<OpSchema> map_ops() {
  return {map_schema("ZipMap", "scores with a column per class label", infer_zip_map,
                     {ElementType::kF32}, {ElementType::kF32}),
          map_schema("DictVectorizer", "values with a column per word of the vocabulary",
                     infer_dict_vectorizer, kMapValues, kMapValues),
          map_schema("CastMap", "values with a column per key, cast", infer_cast_map,
                     {ElementType::kF32, ElementType::kString},
                     {ElementType::kF32, ElementType::kI64, ElementType::kString},
                     {{"cast_to", std::string("TO_FLOAT")},
                      {"map_form", std::string("DENSE")},
                      {"max_map", std::int64_t{1}}})};
}

}  // namespace sluice::ops
