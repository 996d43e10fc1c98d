#include <cstring>
#include <utility>
#include <vector>

#include "ops/ml/tree_check.h"
#include "passes/lower/tree_rows.h"
#include "passes/rewrites.h"
#include "passes/walk.h"

namespace sluice::passes {
namespace {

bool is_ensemble(const ir::Operation& operation) {
  if (operation.domain != "ai.onnx.ml" || operation.body) return false;
  return operation.kind == "TreeEnsembleRegressor" || operation.kind == "TreeEnsembleClassifier";
}

ir::Constant table_of(const TreeRows& rows) {
  std::vector<std::byte> data(rows.values.size() * sizeof(double));
  if (!data.empty()) std::memcpy(data.data(), rows.values.data(), data.size());
  const auto count = static_cast<std::int64_t>(rows.values.size()) / ops::kTreeColumns;
  return {ir::Type::tensor(ir::ElementType::kF64, ir::Shape{count, ops::kTreeColumns}),
          Bytes::own(std::move(data))};
}

/// All but the lists of an entry per node, which the table replaces.
ir::Attributes attributes_of(const ir::Operation& operation, const TreeRows& rows) {
  ir::Attributes attributes;
  for (const auto& [name, value] : operation.attributes) {
    const bool is_list =
        name.starts_with("nodes_") || name.starts_with("target_") || name.starts_with("class_");
    if (!is_list) attributes.set(name, value);
  }
  attributes.set("roots", rows.roots);
  attributes.set("num_nodes", rows.num_nodes);
  attributes.set("num_features", rows.num_features);
  attributes.set("leaf_weights", rows.leaf_weights);
  return attributes;
}

Result<ir::Operation> with_table(ir::Subgraph& subgraph, const ir::Operation& operation) {
  const ir::ElementType element = subgraph.operand(operation.input(0)).type.element();
  const TreeRows rows = SLUICE_TRY(read_tree_rows(operation, element));
  ir::Operation made;
  made.domain = "sluice";
  made.kind = operation.kind == "TreeEnsembleRegressor" ? "TreeRegressor" : "TreeClassifier";
  made.version = 1;
  made.name = operation.name;
  made.inputs = {operation.input(0), subgraph.add_constant("", table_of(rows))};
  made.outputs = operation.outputs;
  made.attributes = attributes_of(operation, rows);
  SLUICE_TRY(ops::normalize(*ops::find_schema(made.domain, made.kind), subgraph, made));
  return made;
}

Result<int> tabulate(ir::Graph& graph, ir::Subgraph& subgraph, const PassContext& context) {
  const std::vector<ir::OperationId> order(subgraph.order().begin(), subgraph.order().end());
  int num_rewritten = 0;
  for (const ir::OperationId at : order) {
    if (!is_ensemble(subgraph.operation(at))) continue;
    auto made = with_table(subgraph, subgraph.operation(at));
    // A form that the table cannot hold stays as it is; a file that is wrong ends the pass.
    if (made.status().code() == Code::kUnimplemented) continue;
    SLUICE_TRY(Status(made.status()));
    if (!context.is_accepted(graph, subgraph, *made)) continue;
    subgraph.insert_operation(at, *std::move(made));
    subgraph.remove_operation(at);
    ++num_rewritten;
  }
  return num_rewritten;
}

}  // namespace

Result<int> tabulate_trees(ir::Graph& graph, const PassContext& context) {
  return rewrite_subgraphs(
      graph, [&](ir::SubgraphId id) { return tabulate(graph, graph.subgraph(id), context); });
}

}  // namespace sluice::passes
