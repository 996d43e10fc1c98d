#include "passes/walk.h"

#include <algorithm>
#include <utility>

namespace sluice::passes {

bool has_trait(const ir::Operation& operation, ops::Trait trait) {
  const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
  return schema != nullptr && schema->has(trait);
}

void drop_unread_outputs(ir::Operation& operation,
                         const std::function<bool(ir::OperandId)>& is_read) {
  const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
  if (schema == nullptr) return;
  for (std::size_t i = 0; i < std::min(operation.outputs.size(), schema->outputs.size()); ++i) {
    if (!schema->outputs[i].is_optional || is_read(operation.outputs[i])) continue;
    operation.outputs[i] = ir::OperandId();
  }
  // Absent outputs at the end are left out, as in a file.
  while (!operation.outputs.empty() && !operation.outputs.back().is_valid()) {
    operation.outputs.pop_back();
  }
}

ir::Operation make_operation(ir::Subgraph& subgraph, std::string_view kind,
                             std::vector<ir::OperandId> inputs, ir::OperandId output,
                             ir::Attributes attributes) {
  const ops::OpSchema* schema = ops::find_schema("", kind);
  ir::Operation operation;
  operation.kind = kind;
  operation.version = schema->newest_version();
  operation.inputs = std::move(inputs);
  operation.outputs = {output};
  operation.attributes = std::move(attributes);
  // Kernels read attributes without defaults of their own: an operation made here has all of them.
  for (const ops::AttributeSpec& spec : schema->attributes) {
    if (!spec.default_value || operation.attributes.contains(spec.name)) continue;
    operation.attributes.set(std::string(spec.name), *spec.default_value);
  }
  operation.name = subgraph.operand(output).name;
  return operation;
}

ir::OperandId add_operand(ir::Subgraph& subgraph, ir::Type type) {
  return subgraph.add_operand(ir::Operand{"", std::move(type), std::nullopt});
}

}  // namespace sluice::passes
