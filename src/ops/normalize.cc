#include "ops/attribute_rules.h"
#include "ops/schema.h"

namespace sluice::ops {
namespace {

Status check_count(std::string_view what, std::size_t given, const std::vector<OperandSpec>& specs,
                   const ir::Operation& operation) {
  const bool is_variadic = !specs.empty() && specs.back().is_variadic;
  if (given > specs.size() && !is_variadic) {
    return invalid_argument("{}: has {} {}s; the operator knows {}", operation.describe(), given,
                            what, specs.size());
  }
  return ok_status();
}

Status check_required_inputs(const OpSchema& schema, const ir::Operation& operation) {
  for (std::size_t i = 0; i < schema.inputs.size(); ++i) {
    const OperandSpec& spec = schema.inputs[i];
    if (spec.is_optional || spec.is_variadic || operation.input(i).is_valid()) continue;
    return invalid_argument("{}: input \"{}\" is missing", operation.describe(), spec.name);
  }
  return ok_status();
}

Status check_attributes(const OpSchema& schema, ir::Operation& operation) {
  for (const AttributeSpec& spec : schema.attributes) {
    const ir::Attribute* given = operation.attributes.find(spec.name);
    if (given == nullptr && spec.is_required) {
      return invalid_argument("{}: attribute \"{}\" is missing", operation.describe(), spec.name);
    }
    if (!spec.default_value) continue;
    if (given == nullptr) {
      operation.attributes.set(std::string(spec.name), *spec.default_value);
    } else if (given->index() != spec.default_value->index()) {
      return wrong_kind(spec.name, *given, spec.default_value->index())
          .with_context(operation.describe());
    }
  }
  return ok_status();
}

}  // namespace

Status upgrade_unchanged(ir::Subgraph& /*subgraph*/, ir::Operation& operation) {
  const OpSchema* schema = find_schema(operation.domain, operation.kind);
  if (schema != nullptr) operation.version = schema->newest_version();
  return ok_status();
}

Status normalize(const OpSchema& schema, ir::Subgraph& subgraph, ir::Operation& operation) {
  const bool is_newest = operation.version == schema.newest_version();
  if (schema.upgrade != nullptr && (!is_newest || schema.has(kLowered))) {
    SLUICE_TRY(schema.upgrade(subgraph, operation));
    if (operation.kind != schema.name) {  // another operator took its place
      return normalize(*find_schema(operation.domain, operation.kind), subgraph, operation);
    }
  }
  SLUICE_TRY(check_count("input", operation.inputs.size(), schema.inputs, operation));
  SLUICE_TRY(check_count("output", operation.outputs.size(), schema.outputs, operation));
  SLUICE_TRY(check_required_inputs(schema, operation));
  return check_attributes(schema, operation);
}

}  // namespace sluice::ops
