#include <algorithm>

#include "base/text/plural.h"
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

/// An operation that is being made gets its outputs later.
Status check_some_output(const OpSchema& schema, const ir::Operation& operation) {
  const bool is_written = std::ranges::any_of(
      operation.outputs, [](ir::OperandId output) { return output.is_valid(); });
  if (is_written || operation.outputs.empty() || schema.has(kControlFlow)) return ok_status();
  return invalid_argument("{}: none of its outputs has a name", operation.describe());
}

/// A file may leave away any output that nobody reads: its name, or a last one altogether. Shape
/// functions and kernels count on the outputs that an operator always has, so these become values
/// without a name. The executor's control flow and a program's own operators count for themselves.
void add_unread_outputs(const OpSchema& schema, ir::Subgraph& subgraph, ir::Operation& operation) {
  const bool is_ours = !schema.has(kControlFlow) && !schema.has(kCustom);
  if (operation.outputs.empty() || schema.outputs.empty() || !is_ours) return;
  const auto is_always_there = [](const OperandSpec& spec) { return !spec.is_optional; };
  const auto last =
      std::ranges::find_if(schema.outputs.rbegin(), schema.outputs.rend(), is_always_there);
  const auto least = static_cast<std::size_t>(schema.outputs.rend() - last);
  operation.outputs.resize(std::max(operation.outputs.size(), least));
  for (std::size_t i = 0; i < operation.outputs.size(); ++i) {
    const OperandSpec& spec = schema.outputs[std::min(i, schema.outputs.size() - 1)];
    if (operation.outputs[i].is_valid() || spec.is_optional) continue;
    operation.outputs[i] = subgraph.add_operand(ir::Operand());
  }
}

/// An attribute that became an input in a later version: a shape function reads the input, so a
/// kernel that read the attribute would compute another shape.
Status check_no_leftovers(const OpSchema& schema, const ir::Operation& operation) {
  if (operation.version != schema.newest_version()) return ok_status();
  for (const auto& attribute : operation.attributes) {
    const std::string& name = attribute.first;
    const auto is_named = [&](const auto& spec) { return spec.name == name; };
    const auto input = std::ranges::find_if(schema.inputs, is_named);
    if (input == schema.inputs.end() || std::ranges::any_of(schema.attributes, is_named)) continue;
    return invalid_argument(
        "{}: attribute \"{}\" is not one that the operator has in version {}, where input {} is "
        "that",
        operation.describe(), name, operation.version, input - schema.inputs.begin());
  }
  return ok_status();
}

Status check_attributes(const OpSchema& schema, ir::Operation& operation) {
  SLUICE_TRY(check_no_leftovers(schema, operation));
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

Status check_no_state(const OpSchema& schema, const ir::Operation& operation) {
  for (std::size_t i = 0; i < schema.inputs.size(); ++i) {
    if (!schema.inputs[i].is_random_state || !operation.input(i).is_valid()) continue;
    return invalid_argument("{}: has {}; the operator knows {}", operation.describe(),
                            counted(operation.inputs.size(), "input"), i);
  }
  return ok_status();
}

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
  SLUICE_TRY(check_some_output(schema, operation));
  add_unread_outputs(schema, subgraph, operation);
  return check_attributes(schema, operation);
}

}  // namespace sluice::ops
