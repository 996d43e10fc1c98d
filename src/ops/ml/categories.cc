// Categories and their numbers: OneHotEncoder, LabelEncoder, CategoryMapper.
#include <optional>
#include <utility>

#include "ops/families.h"
#include "ops/ml/ml.h"

namespace sluice::ops {
namespace {

using ir::ElementType;

/// One side of a table: how many entries of which element type; kUndefined for none.
struct Side {
  std::size_t count = 0;
  ElementType element = ElementType::kUndefined;
};

/// `prefix` is "keys" or "values": lists of three kinds and a tensor, one of which is given.
Result<Side> side_of(const InferenceContext& context, const std::string& prefix) {
  const Side sides[] = {
      {SLUICE_TRY(list_attribute<std::string>(context, prefix + "_strings")).size(),
       ElementType::kString},
      {SLUICE_TRY(list_attribute<std::int64_t>(context, prefix + "_int64s")).size(),
       ElementType::kI64},
      {SLUICE_TRY(list_attribute<float>(context, prefix + "_floats")).size(), ElementType::kF32}};
  Side found;
  int num_found = 0;
  for (const Side& side : sides) {
    if (side.count == 0) continue;
    found = side;
    ++num_found;
  }
  if (const auto* tensor = context.attributes().find<ir::Constant>(prefix + "_tensor")) {
    const std::int64_t count = ir::num_elements(*tensor->type.shape()).value_or(0);
    found = {static_cast<std::size_t>(count), tensor->type.element()};
    ++num_found;
  }
  if (num_found == 1) return found;
  return context.error(
      "it has {0} of the attributes {1}_strings, {1}_int64s, {1}_floats and "
      "{1}_tensor; it takes one",
      num_found, prefix);
}

/// Strings to numbers or numbers to strings. Table look-ups keep the shape.
Status infer_translation(InferenceContext& context) {
  const bool is_text = context.element(0) == ElementType::kString;
  set_like_input(context, is_text ? ElementType::kI64 : ElementType::kString);
  return ok_status();
}

Status infer_label_encoder(InferenceContext& context) {
  if (context.version() == 1) {
    const auto classes = SLUICE_TRY(list_attribute<std::string>(context, "classes_strings"));
    if (classes.empty()) return context.error("attribute \"classes_strings\" has no classes");
    return infer_translation(context);
  }
  const Side keys = SLUICE_TRY(side_of(context, "keys"));
  const Side values = SLUICE_TRY(side_of(context, "values"));
  if (keys.count != values.count) {
    return context.error("it has {} keys and {} values", keys.count, values.count);
  }
  if (keys.element != context.element(0) && context.element(0) != ElementType::kUndefined) {
    return context.error("its keys are {}, X is {}", ir::element_type_name(keys.element),
                         ir::element_type_name(context.element(0)));
  }
  const auto* fallback = context.attributes().find<ir::Constant>("default_tensor");
  if (fallback != nullptr && (fallback->type.element() != values.element ||
                              ir::num_elements(*fallback->type.shape()) != 1)) {
    return context.error("attribute \"default_tensor\" is {}; it must be one {}",
                         fallback->type.to_string(), ir::element_type_name(values.element));
  }
  set_like_input(context, values.element);
  return ok_status();
}

Status infer_category_mapper(InferenceContext& context) {
  const auto texts = SLUICE_TRY(list_attribute<std::string>(context, "cats_strings"));
  const auto ints = SLUICE_TRY(list_attribute<std::int64_t>(context, "cats_int64s"));
  if (texts.size() != ints.size() || texts.empty()) {
    return context.error("cats_strings has {} entries, cats_int64s {}; they must have as many",
                         texts.size(), ints.size());
  }
  return infer_translation(context);
}

Status infer_one_hot(InferenceContext& context) {
  const auto texts = SLUICE_TRY(list_attribute<std::string>(context, "cats_strings"));
  const auto ints = SLUICE_TRY(list_attribute<std::int64_t>(context, "cats_int64s"));
  if (texts.empty() == ints.empty()) {
    return context.error("it takes either attribute \"cats_strings\" or \"cats_int64s\"");
  }
  const bool is_text = context.element(0) == ElementType::kString;
  if (is_text == texts.empty() && context.element(0) != ElementType::kUndefined) {
    return context.error("its categories are {}, X is {}", texts.empty() ? "i64" : "string",
                         ir::element_type_name(context.element(0)));
  }
  const ir::Shape* shape = context.shape(0);
  std::optional<ir::Shape> result;
  if (shape != nullptr) {
    result = *shape;
    // One more axis: the categories.
    result->emplace_back(static_cast<std::int64_t>(texts.size() + ints.size()));
  }
  context.set_output(0, ElementType::kF32, std::move(result));
  return ok_status();
}

}  // namespace

std::vector<OpSchema> category_ops() {
  OpSchema encoder =
      ml_schema("LabelEncoder", "the value of a key in a table, or a default", infer_label_encoder,
                {{"default_float", -0.0F},
                 {"default_int64", std::int64_t{-1}},
                 {"default_string", std::string("_Unused")}});
  encoder.versions = {1, 2, 4};
  encoder.inputs = {{"X", kKeys, "T"}};
  encoder.outputs = {{"Y", kKeys}};
  OpSchema mapper =
      ml_schema("CategoryMapper", "names of categories to numbers, or back", infer_category_mapper,
                {{"default_int64", std::int64_t{-1}}, {"default_string", std::string("_Unused")}});
  mapper.inputs = {{"X", kLabels, "T"}};
  mapper.outputs = {{"Y", kLabels}};
  OpSchema one_hot = ml_schema("OneHotEncoder", "1 at the category of x, 0 at the others",
                               infer_one_hot, {{"zeros", std::int64_t{1}}});
  one_hot.inputs = {{"X", kFeatures | kStrings, "T"}};
  return {std::move(encoder), std::move(mapper), std::move(one_hot)};
}

}  // namespace sluice::ops
