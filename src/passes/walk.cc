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

ir::Operation make_operation(const ir::Subgraph& subgraph, std::string_view kind,
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

Result<int> fuse_roots(ir::Graph& graph, const PassContext& context, std::string_view kind,
                       const Fusion& fusion) {
  return rewrite_operations(
      graph, [&](ir::Subgraph& subgraph, const Matcher& matcher, ir::OperationId at) {
        const ir::Operation& root = subgraph.operation(at);
        if (!root.is(kind) || root.body || root.inputs.size() != 2) return false;
        auto fused = fusion(matcher, root);
        // A scale or bias of higher rank would have broadcast the first input to another shape.
        if (!fused || !same_type(subgraph, fused->inputs[0], root.outputs[0]) ||
            !context.is_accepted(graph, subgraph, *fused)) {
          return false;
        }
        // The parts stay for other readers; `dead_code` removes those that have none.
        subgraph.operation(at) = std::move(*fused);
        return true;
      });
}

ir::OperandId add_operand(ir::Subgraph& subgraph, ir::Type type) {
  return subgraph.add_operand(ir::Operand{"", std::move(type), std::nullopt});
}

}  // namespace sluice::passes
