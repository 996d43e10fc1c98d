// Tokenizer of com.microsoft: strings cut by regular expressions, as text pipelines need them.
#include <utility>

#include "ops/attribute_rules.h"
#include "ops/families.h"
#include "ops/inference.h"
#include "ops/upgrade.h"

namespace sluice::ops {
namespace {

Status infer_width(InferenceContext& context) {
  context.set_output(0, ir::ElementType::kI64, ir::Shape());
  return ok_status();
}

/// [..., width].
Status infer_tokens(InferenceContext& context) {
  const ir::Shape* input = context.shape(0);
  if (input == nullptr) return ok_status();
  const Values* width = context.values(1);
  ir::Shape tokens = *input;
  tokens.push_back(width != nullptr && width->size() == 1 ? width->front() : context.unknown_dim());
  context.set_output(0, ir::ElementType::kString, std::move(tokens));
  return ok_status();
}

/// How many tokens there are at most is found first: it is a dimension of the result.
Status lower_tokenizer(ir::Subgraph& subgraph, ir::Operation& operation) {
  const auto& attributes = operation.attributes;
  SLUICE_TRY(check_attribute_rules(operation.kind, attributes).with_context(operation.describe()));
  const auto* separators = attributes.find<std::vector<std::string>>("separators");
  const bool has_separators = separators != nullptr && !separators->empty();
  const bool has_expression = !attributes.get_or("tokenexp", std::string()).empty();
  if (has_separators == has_expression) {
    return invalid_argument("{}: it needs either \"separators\" or \"tokenexp\"",
                            operation.describe());
  }
  const auto least = attributes.get_or<std::int64_t>("mincharnum", 1);
  if (least > 1 && has_separators && separators->front().empty()) {
    return invalid_argument(
        "{}: the separator \"\" cuts single characters; mincharnum {} fits none",
        operation.describe(), least);
  }
  return measure_first(subgraph, operation, "TokenizerWidth", "TokenizerTexts");
}

std::vector<AttributeSpec> tokenizer_attributes() {
  return {{.name = "mark", .default_value = std::int64_t{0}},
          {.name = "mincharnum", .default_value = std::int64_t{1}},
          {.name = "pad_value", .default_value = std::string()},
          {.name = "separators", .default_value = std::nullopt},
          {.name = "tokenexp", .default_value = std::string()}};
}

}  // namespace

std::vector<OpSchema> tokenizer_ops() {
  const OperandSpec input = {.name = "X", .types = kStrings};
  const std::vector<OperandSpec> outputs = {{.name = "Y", .types = kStrings}};
  return {
      {.domain = "com.microsoft",
       .name = "Tokenizer",
       .versions = {1},
       .doc =
           "each string cut by regular expressions of separators or tokens, padded to one length",
       .inputs = {input},
       .outputs = outputs,
       .attributes = tokenizer_attributes(),
       .infer = infer_same_as_input,
       .traits = kLowered,
       .upgrade = lower_tokenizer},
      {.domain = "sluice",
       .name = "TokenizerWidth",
       .versions = {1},
       .doc = "largest number of tokens of Tokenizer",
       .inputs = {input},
       .outputs = {{.name = "width", .types = kI64Only}},
       .attributes = tokenizer_attributes(),
       .infer = infer_width},
      {.domain = "sluice",
       .name = "TokenizerTexts",
       .versions = {1},
       .doc = "Tokenizer with a known number of tokens",
       .inputs = {input, {.name = "width", .types = kI64Only, .is_shape_value = true}},
       .outputs = outputs,
       .attributes = tokenizer_attributes(),
       .infer = infer_tokens},
  };
}

}  // namespace sluice::ops
