// Optionals: Optional, OptionalHasElement, OptionalGetElement. Steps of the executor.
#include "ops/control/types.h"
#include "ops/families.h"

namespace sluice::ops {
namespace {

using Kind = ir::Type::Kind;

Status infer_optional(InferenceContext& context) {
  if (context.has_input(0)) {
    context.set_output(0, ir::Type::optional(with_own_dims(context, context.input(0))));
    return ok_status();
  }
  const auto* type = context.attributes().find<ir::Type>("type");
  if (type == nullptr) return context.error("has neither an element nor attribute \"type\"");
  context.set_output(0, ir::Type::optional(*type));
  return ok_status();
}

Status infer_has_element(InferenceContext& context) {
  context.set_output(0, ir::ElementType::kBool, ir::Shape{});
  return ok_status();
}

Status infer_get_element(InferenceContext& context) {
  const ir::Type& type = context.input(0);
  context.set_output(0,
                     with_own_dims(context, type.kind() == Kind::kOptional ? type.item() : type));
  return ok_status();
}

OperandSpec anything(std::string_view name, bool is_optional) {
  return {.name = name, .types = kAllTensors, .is_optional = is_optional, .takes_any_type = true};
}

}  // namespace

std::vector<OpSchema> optional_ops() {
  std::vector<OpSchema> schemas;
  schemas.push_back({.name = "Optional",
                     .versions = {15, 28},
                     .doc = "an optional with an element, or an empty one",
                     .inputs = {anything("input", true)},
                     .outputs = {anything("output", false)},
                     .attributes = {{.name = "type", .default_value = {}}},
                     .infer = infer_optional,
                     .traits = kControlFlow,
                     .upgrade = upgrade_unchanged});
  schemas.push_back({.name = "OptionalHasElement",
                     .versions = {15, 18, 28},
                     .doc = "whether an optional has an element",
                     .inputs = {anything("input", true)},
                     .outputs = {{.name = "output", .types = kBools}},
                     .infer = infer_has_element,
                     .traits = kControlFlow,
                     .upgrade = upgrade_unchanged});
  schemas.push_back({.name = "OptionalGetElement",
                     .versions = {15, 18, 28},
                     .doc = "the element of an optional",
                     .inputs = {anything("input", false)},
                     .outputs = {anything("output", false)},
                     .infer = infer_get_element,
                     .traits = kControlFlow,
                     .upgrade = upgrade_unchanged});
  return schemas;
}

}  // namespace sluice::ops
