#include <algorithm>

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
    const auto it = std::find_if(operation.attributes.begin(), operation.attributes.end(),
                                 [&](const auto& entry) { return entry.first == spec.name; });
    const bool is_given = it != operation.attributes.end();
    if (!is_given && spec.is_required) {
      return invalid_argument("{}: attribute \"{}\" is missing", operation.describe(), spec.name);
    }
    if (!spec.default_value) continue;
    if (!is_given) {
      operation.attributes.set(std::string(spec.name), *spec.default_value);
    } else if (it->second.index() != spec.default_value->index()) {
      return invalid_argument("{}: attribute \"{}\" is of the wrong kind", operation.describe(),
                              spec.name);
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
