#include "passes/walk.h"

#include <utility>
#include <variant>

namespace sluice::passes {

std::vector<ir::SubgraphId> runnable_subgraphs(const ir::Graph& graph) {
  std::vector<ir::SubgraphId> found = {ir::SubgraphId(std::size_t{0})};
  std::vector<bool> is_found(graph.num_subgraphs(), false);
  is_found[0] = true;
  const auto add = [&](ir::SubgraphId id) {
    if (is_found[id.index()]) return;
    is_found[id.index()] = true;
    found.push_back(id);
  };
  for (std::size_t i = 0; i < found.size(); ++i) {
    const ir::Subgraph& subgraph = graph.subgraph(found[i]);
    for (const ir::OperationId operation : subgraph.order()) {
      for (const auto& [name, value] : subgraph.operation(operation).attributes) {
        if (const auto* id = std::get_if<ir::SubgraphId>(&value)) add(*id);
        if (const auto* ids = std::get_if<std::vector<ir::SubgraphId>>(&value)) {
          for (const ir::SubgraphId id : *ids) add(id);
        }
      }
    }
  }
  return found;
}

bool has_trait(const ir::Operation& operation, ops::Trait trait) {
  const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
  return schema != nullptr && schema->has(trait);
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
