#include "passes/fuse/body_builder.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace sluice::passes {
namespace {

class BodyBuilder {
 public:
  BodyBuilder(const ir::Subgraph& subgraph, ir::OperandId own_result) : subgraph_(subgraph) {
    if (own_result.is_valid()) parts_.program.inputs.push_back(add(own_result));
  }

  void add_step(const ir::Operation& operation) {
    ir::Operation step = operation;
    const std::size_t rank = highest_variable_rank(operation);
    for (ir::OperandId& input : step.inputs) {
      if (input.is_valid()) input = find(input, rank);
    }
    step.outputs = {add(operation.outputs[0])};
    result_ = step.outputs[0];
    parts_.program.add_operation(std::move(step));
  }

  BodyParts finish() {
    parts_.program.name = "body";
    parts_.program.outputs = {result_};
    return std::move(parts_);
  }

 private:
  ir::OperandId add(ir::OperandId outer) {
    ir::Operand copy{"", subgraph_.operand(outer).type, std::nullopt};
    const ir::OperandId inner = parts_.program.add_operand(std::move(copy));
    inner_[outer] = inner;
    return inner;
  }

  std::size_t highest_variable_rank(const ir::Operation& operation) const {
    std::size_t highest = 0;
    for (const ir::OperandId input : operation.inputs) {
      if (!input.is_valid() || subgraph_.is_constant(input)) continue;
      const ir::Shape* shape = subgraph_.operand(input).type.shape();
      if (shape != nullptr) highest = std::max(highest, shape->size());
    }
    return highest;
  }

  /// A constant of one element moves into the body, unless its rank determines the result's rank: a
  /// body's result has the shape of its inputs.
  ir::OperandId find(ir::OperandId outer, std::size_t rank) {
    const auto known = inner_.find(outer);
    if (known != inner_.end()) return known->second;
    const ir::Constant* constant = subgraph_.find_constant(outer);
    if (constant != nullptr && ir::num_elements(*constant->type.shape()) == 1 &&
        constant->type.shape()->size() <= rank) {
      return inner_[outer] = parts_.program.add_constant("", *constant);
    }
    parts_.inputs.push_back(outer);
    parts_.program.inputs.push_back(add(outer));
    return parts_.program.inputs.back();
  }

  const ir::Subgraph& subgraph_;
  BodyParts parts_;
  std::unordered_map<ir::OperandId, ir::OperandId> inner_;  // by operand of the subgraph
  ir::OperandId result_;
};

}  // namespace

BodyParts build_body(const ir::Subgraph& subgraph, std::span<const ir::OperationId> steps,
                     ir::OperandId own_result) {
  BodyBuilder builder(subgraph, own_result);
  for (const ir::OperationId step : steps) builder.add_step(subgraph.operation(step));
  return builder.finish();
}

}  // namespace sluice::passes
