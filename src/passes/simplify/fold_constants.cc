#include <algorithm>

#include "passes/rewrites.h"
#include "passes/walk.h"

namespace sluice::passes {
namespace {

constexpr std::int64_t kAlwaysFolded = std::int64_t{8} << 20;
constexpr std::int64_t kMaxGrowth = 2;
constexpr std::int64_t kBaseBudget = std::int64_t{256} << 20;
constexpr std::int64_t kMaxRounds =
    4;  // chains of Transpose, Cast, ...: each constant folds a few times

/// Bytes that the constants among these operands hold.
template <typename Ids>
std::int64_t constant_bytes(const ir::Subgraph& subgraph, const Ids& operands) {
  std::int64_t bytes = 0;
  for (const ir::OperandId id : operands) {
    const ir::Constant* constant = subgraph.find_constant(id);
    if (constant != nullptr) bytes += static_cast<std::int64_t>(constant->data.size());
  }
  return bytes;
}

/// Bounds what folding may add, so that a small file cannot ask for all memory.
class Budget {
 public:
  explicit Budget(const ir::Subgraph& subgraph) : left_(kBaseBudget) {
    std::vector<ir::OperandId> all;
    for (std::size_t i = 0; i < subgraph.num_operands(); ++i) all.emplace_back(i);
    left_ += kMaxRounds * constant_bytes(subgraph, all);
  }

  /// Whether the outputs are small, or not much larger than their inputs.
  bool allows(const ir::Subgraph& subgraph, const ir::Operation& operation) const {
    const std::int64_t limit = std::min(
        left_, std::max(kAlwaysFolded, kMaxGrowth * constant_bytes(subgraph, operation.inputs)));
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

  /// Takes the results off the budget, or returns false: strings are larger than their types say.
  bool spend(const ir::Subgraph& subgraph, const ir::Operation& operation,
             const std::vector<ir::Constant>& values) {
    std::int64_t bytes = 0;
    for (const ir::Constant& value : values) bytes += static_cast<std::int64_t>(value.data.size());
    const std::int64_t inputs = constant_bytes(subgraph, operation.inputs);
    if (bytes > std::min(left_, std::max(kAlwaysFolded, kMaxGrowth * inputs))) return false;
    left_ -= bytes;
    return true;
  }

 private:
  std::int64_t left_;
};

bool is_foldable(const ir::Subgraph& subgraph, const ir::Operation& operation) {
  const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
  if (schema == nullptr || schema->has(ops::kRandom) || schema->has(ops::kControlFlow) ||
      operation.body) {
    return false;
  }
  return std::all_of(operation.inputs.begin(), operation.inputs.end(), [&](ir::OperandId input) {
    return !input.is_valid() || subgraph.is_constant(input);
  });
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

/// A view of a constant shares its bytes, so that a package has them once.
void share_bytes(const ir::Subgraph& subgraph, const ir::Operation& operation,
                 std::vector<ir::Constant>& values) {
  if (!has_trait(operation, ops::kView) || values.empty()) return;
  const ir::Constant* source = subgraph.find_constant(operation.input(0));
  if (source == nullptr || source->data.size() != values[0].data.size()) return;
  if (source->type.element() == values[0].type.element()) values[0].data = source->data;
}

Result<int> run(ir::Subgraph& subgraph, const Evaluator& evaluate) {
  int num_folded = 0;
  Budget budget(subgraph);
  std::vector<ir::OperationId> kept;
  for (const ir::OperationId id : subgraph.order()) {
    const ir::Operation& operation = subgraph.operation(id);
    kept.push_back(id);
    if (!is_foldable(subgraph, operation) || !budget.allows(subgraph, operation)) continue;
    auto values = evaluate(subgraph, operation);
    if (!values.is_ok() || !fits(subgraph, operation, *values)) continue;
    if (!budget.spend(subgraph, operation, *values)) continue;
    share_bytes(subgraph, operation, *values);
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
