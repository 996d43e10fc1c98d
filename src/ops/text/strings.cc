// Tensors of strings: joined, split, normalized, matched.
#include <algorithm>
#include <utility>

#include "ops/families.h"
#include "ops/inference.h"
#include "ops/upgrade.h"

namespace sluice::ops {
namespace {

/// A vector, or a matrix of one row; what is left after stop words went, at least one element.
Status infer_normalizer(InferenceContext& context) {
  SLUICE_TRY(check_choice(context, "case_change_action", {"LOWER", "UPPER", "NONE"}));
  const ir::Shape* input = context.shape(0);
  if (input == nullptr) return ok_status();
  const bool is_row = input->size() == 2 && (!(*input)[0].is_known() || (*input)[0].is(1));
  if (input->size() != 1 && !is_row) {
    return context.error("input {} must be [C] or [1, C]", ir::shape_to_string(*input));
  }
  ir::Shape shape = *input;
  // Stop words may remove all elements; ONNX keeps one empty text then.
  shape.back() = context.data_dependent_dim(max(shape.back(), ir::Dim(1)));
  context.set_output(0, ir::ElementType::kString, std::move(shape));
  return ok_status();
}

Status infer_match(InferenceContext& context) {
  set_like_input(context, ir::ElementType::kBool);
  return ok_status();
}

Status infer_split_width(InferenceContext& context) {
  context.set_output(0, ir::ElementType::kI64, ir::Shape());
  return ok_status();
}

/// [..., width] and [...].
Status infer_split_texts(InferenceContext& context) {
  const ir::Shape* input = context.shape(0);
  if (input == nullptr) return ok_status();
  const Values* width = context.values(1);
  const bool is_known = width != nullptr && width->size() == 1;
  ir::Shape pieces = *input;
  pieces.push_back(is_known ? width->front() : context.unknown_dim());
  context.set_output(0, ir::ElementType::kString, std::move(pieces));
  context.set_output(1, ir::ElementType::kI64, *input);
  return ok_status();
}

/// How many pieces there are at most is found first: it is a dimension of the result.
Status lower_split(ir::Subgraph& subgraph, ir::Operation& operation) {
  const auto maxsplit = operation.attributes.get_or<std::int64_t>("maxsplit", -1);
  operation.attributes.set("maxsplit", maxsplit);
  operation.attributes.set("delimiter",
                           operation.attributes.get_or<std::string>("delimiter", std::string()));
  operation.outputs.resize(std::max<std::size_t>(operation.outputs.size(), 1));
  return measure_first(subgraph, operation, "StringSplitWidth", "StringSplitTexts");
}

std::vector<AttributeSpec> split_attributes() {
  return {{.name = "delimiter", .default_value = std::string()},
          {.name = "maxsplit", .default_value = std::int64_t{-1}}};
}

std::vector<OpSchema> split_ops() {
  const OperandSpec input = {.name = "X", .types = kStrings};
  const std::vector<OperandSpec> outputs = {{.name = "Y", .types = kStrings},
                                            {.name = "Z", .types = kI64Only, .is_optional = true}};
  return {
      {.name = "StringSplit",
       .versions = {20},
       .doc = "each string cut at a delimiter or at white space, padded with empty ones",
       .inputs = {input},
       .outputs = outputs,
       .attributes = split_attributes(),
       .infer = infer_same_as_input,
       .traits = kLowered,
       .upgrade = lower_split},
      {.domain = "sluice",
       .name = "StringSplitWidth",
       .versions = {1},
       .doc = "largest number of pieces of StringSplit",
       .inputs = {input},
       .outputs = {{.name = "width", .types = kI64Only}},
       .attributes = split_attributes(),
       .infer = infer_split_width},
      {.domain = "sluice",
       .name = "StringSplitTexts",
       .versions = {1},
       .doc = "StringSplit into a known number of pieces",
       .inputs = {input, {.name = "width", .types = kI64Only, .is_shape_value = true}},
       .outputs = outputs,
       .attributes = split_attributes(),
       .infer = infer_split_texts},
  };
}

}  // namespace

std::vector<OpSchema> string_ops() {
  std::vector<OpSchema> ops = split_ops();
  ops.push_back(
      {.name = "RegexFullMatch",
       .versions = {20},
       .doc = "whether the whole string matches a regular expression, in RE2's syntax",
       .inputs = {{.name = "X", .types = kStrings}},
       .outputs = {{.name = "Y", .types = kBools}},
       .attributes = {{.name = "pattern", .default_value = std::string(), .is_required = true}},
       .infer = infer_match});
  ops.push_back({.name = "StringConcat",
                 .versions = {20},
                 .doc = "X followed by Y",
                 .inputs = {{.name = "X", .types = kStrings}, {.name = "Y", .types = kStrings}},
                 .outputs = {{.name = "Z", .types = kStrings}},
                 .infer = infer_broadcast});
  ops.push_back(
      {.name = "StringNormalizer",
       .versions = {10},
       .doc = "without stop words, in upper or lower case on request",
       .inputs = {{.name = "X", .types = kStrings}},
       .outputs = {{.name = "Y", .types = kStrings}},
       .attributes = {{.name = "case_change_action", .default_value = std::string("NONE")},
                      {.name = "is_case_sensitive", .default_value = std::int64_t{0}},
                      {.name = "locale", .default_value = std::string("en_US")},
                      {.name = "stopwords", .default_value = std::nullopt}},
       .infer = infer_normalizer,
       .traits = kDataDependentShape});
  return ops;
}

}  // namespace sluice::ops
