#include <algorithm>

#include "passes/rewrites.h"
#include "passes/walk.h"

namespace sluice::passes {
namespace {

constexpr std::int64_t kAlwaysFolded = std::int64_t{1} << 20;
constexpr std::int64_t kMostGrowth = 2;

std::int64_t input_bytes(const ir::Subgraph& subgraph, const ir::Operation& operation) {
  std::int64_t bytes = 0;
  for (const ir::OperandId input : operation.inputs) {
    const ir::Constant* constant = subgraph.find_constant(input);
    if (constant != nullptr) bytes += static_cast<std::int64_t>(constant->data.size());
  }
  return bytes;
}

/// Small enough, or not much larger than what it was made of.
bool is_worth_keeping(const ir::Subgraph& subgraph, const ir::Operation& operation) {
  const std::int64_t limit =
      std::max(kAlwaysFolded, kMostGrowth * input_bytes(subgraph, operation));
  for (const ir::OperandId output : operation.outputs) {
    if (!output.is_valid()) continue;
    const ir::Type& type = subgraph.operand(output).type;
    if (!type.is_tensor()) return false;
    if (type.element() == ir::ElementType::kString || !type.is_static()) continue;
    const auto bytes = ir::storage_bytes(type);
    if (!bytes || *bytes > limit) return false;
  }
  return true;
}

bool is_foldable(const ir::Subgraph& subgraph, const ir::Operation& operation) {
  const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
  if (schema == nullptr || schema->has(ops::kRandom) || schema->has(ops::kControlFlow) ||
      operation.body) {
    return false;
  }
  const bool are_constants = std::all_of(
      operation.inputs.begin(), operation.inputs.end(),
      [&](ir::OperandId input) { return !input.is_valid() || subgraph.is_constant(input); });
  return are_constants && is_worth_keeping(subgraph, operation);
}

bool fits(const ir::Subgraph& subgraph, const ir::Operation& operation,
          const std::vector<ir::Constant>& values) {
  if (values.size() != operation.outputs.size()) return false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const ir::OperandId output = operation.outputs[i];
    if (!output.is_valid()) continue;
    const ir::Type& type = subgraph.operand(output).type;
    if (values[i].type.element() != type.element() || !values[i].type.is_static()) return false;
  }
  return true;
}

Result<int> run(ir::Subgraph& subgraph, const Evaluator& evaluate) {
  int num_folded = 0;
  std::vector<ir::OperationId> kept;
  for (const ir::OperationId id : subgraph.order()) {
    const ir::Operation& operation = subgraph.operation(id);
    kept.push_back(id);
    if (!is_foldable(subgraph, operation)) continue;
    const auto values = evaluate(subgraph, operation);
    if (!values.is_ok() || !fits(subgraph, operation, *values)) continue;
    for (std::size_t i = 0; i < operation.outputs.size(); ++i) {
      if (!operation.outputs[i].is_valid()) continue;
      ir::Operand& output = subgraph.operand(operation.outputs[i]);
      output.constant = (*values)[i];
      output.type = output.constant->type;
    }
    kept.pop_back();
    ++num_folded;
  }
  if (num_folded > 0) subgraph.set_order(std::move(kept));
  return num_folded;
}

}  // namespace

Result<int> fold_constants(ir::Graph& graph, const PassContext& context) {
  if (!context.evaluate) return 0;
  return rewrite_subgraphs(
      graph, [&](ir::SubgraphId id) { return run(graph.subgraph(id), context.evaluate); });
}

}  // namespace sluice::passes
