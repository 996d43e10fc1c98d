#include <optional>

#include "ops/inference.h"
#include "passes/rewrites.h"
#include "passes/walk.h"

namespace sluice::passes {
namespace {

/// A constant of these values, if all are numbers and the type is i64 or i32 and says as many.
std::optional<ir::Constant> constant_of(const ops::Values& values, const ir::Type& type) {
  std::vector<std::int64_t> numbers;
  for (const ir::Dim& value : values) {
    if (!value.is_known() || value.is_overflow()) return std::nullopt;
    numbers.push_back(value.value());
  }
  if (!type.is_static() || ir::num_elements(*type.shape()) != std::int64_t(numbers.size())) {
    return std::nullopt;
  }
  if (type.element() == ir::ElementType::kI64) {
    return ir::make_i64_constant(numbers, *type.shape());
  }
  if (type.element() != ir::ElementType::kI32) return std::nullopt;
  const std::vector<std::int32_t> narrow(numbers.begin(), numbers.end());
  const auto bytes = std::as_bytes(std::span(narrow));
  return ir::Constant{type, Bytes::own({bytes.begin(), bytes.end()})};
}

class Folder {
 public:
  explicit Folder(ir::Subgraph& subgraph) : subgraph_(subgraph) {
    for (std::size_t i = 0; i < subgraph.num_operands(); ++i) {
      facts_.push_back(ops::facts_of(subgraph.operand(ir::OperandId(i))));
    }
  }

  /// In order, so that facts of an operation's inputs are complete when its turn comes.
  int run() {
    std::vector<ir::OperationId> kept;
    for (const ir::OperationId id : subgraph_.order()) {
      if (!fold(subgraph_.operation(id))) kept.push_back(id);
    }
    const auto num_folded = static_cast<int>(subgraph_.num_operations() - kept.size());
    subgraph_.set_order(std::move(kept));
    return num_folded;
  }

 private:
  /// True if the operation is not needed any more.
  bool fold(const ir::Operation& operation) {
    const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
    if (schema == nullptr || schema->has(ops::kControlFlow)) return false;
    const auto inputs = ops::input_facts(operation, facts_);
    ops::InferenceContext context(operation, inputs);
    if (!ops::infer_operation(context).is_ok()) return false;
    std::vector<std::optional<ir::Constant>> constants(operation.outputs.size());
    for (std::size_t i = 0; i < operation.outputs.size(); ++i) {
      const ir::OperandId id = operation.outputs[i];
      if (!id.is_valid()) continue;
      ops::OperandFacts& facts = facts_[id.index()];
      // Kept also where the operation stays: readers may need the values without the constant.
      facts.values = context.output_values(i);
      if (facts.values) constants[i] = constant_of(*facts.values, subgraph_.operand(id).type);
    }
    return !schema->has(ops::kRandom) && replace(operation, constants);
  }

  /// Makes the outputs constants if all values are known: an operation computes all of its outputs.
  bool replace(const ir::Operation& operation,
               const std::vector<std::optional<ir::Constant>>& constants) {
    for (std::size_t i = 0; i < constants.size(); ++i) {
      if (operation.outputs[i].is_valid() && !constants[i]) return false;
    }
    for (std::size_t i = 0; i < constants.size(); ++i) {
      if (!operation.outputs[i].is_valid()) continue;
      subgraph_.operand(operation.outputs[i]).constant = constants[i];
    }
    return true;
  }

  ir::Subgraph& subgraph_;
  ops::SubgraphFacts facts_;
};

}  // namespace

Result<int> fold_shapes(ir::Graph& graph, const PassContext& /*context*/) {
  return rewrite_subgraphs(
      graph, [&](ir::SubgraphId id) -> Result<int> { return Folder(graph.subgraph(id)).run(); });
}

}  // namespace sluice::passes
