#include "compile/evaluate.h"

#include <array>
#include <utility>

#include "backend/command_list.h"
#include "ops/schema.h"

namespace sluice::compile {
Result<Evaluator> Evaluator::create(std::shared_ptr<const backend::Backend> backend) {
  const std::array<std::int32_t, 1> cores = {0};
  auto group = SLUICE_TRY(backend::Group::create(backend, 0, cores));
  return Evaluator(std::move(backend), std::move(group));
}

Result<std::vector<ir::Constant>> Evaluator::run(const ir::Graph& graph,
                                                 const ir::Subgraph& subgraph,
                                                 const ir::Operation& operation) const {
  const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
  if (schema == nullptr || schema->has(ops::kControlFlow) ||
      schema->has(ops::kDataDependentShape) || operation.body) {
    return unimplemented("{}: not computed ahead of time", operation.describe());
  }
  auto op = SLUICE_TRY(backend::Op::create({graph, subgraph, operation}));
  auto kernel = SLUICE_TRY(backend::Kernel::create(backend_, group_->device(), std::move(op)));

  std::vector<MutableBytes> kept;  // inputs whose own memory is not aligned
  std::vector<sluice_argument> inputs;
  for (const ir::OperandId id : operation.inputs) {
    const ir::Constant* constant = subgraph.find_constant(id);
    if (constant != nullptr) kept.push_back(MutableBytes::copy_of(constant->data.view()));
    inputs.push_back(constant ? backend::fixed_argument(kept.back().view().data())
                              : backend::absent_argument());
  }
  std::vector<MutableBytes> results;
  std::vector<sluice_argument> outputs;
  for (const ir::OperandId id : operation.outputs) {
    const auto size = id.is_valid() ? ir::storage_bytes(subgraph.operand(id).type) : 0;
    if (!size) return unimplemented("the size of \"{}\" is not known", subgraph.operand(id).name);
    results.emplace_back(static_cast<std::size_t>(*size));
    outputs.push_back(id.is_valid() ? backend::fixed_argument(results.back().view().data())
                                    : backend::absent_argument());
  }
  auto list = SLUICE_TRY(backend::CommandList::create(group_));
  SLUICE_TRY(list.add_kernel(std::move(kernel), inputs, outputs));
  SLUICE_TRY(list.finish());
  auto stream = SLUICE_TRY(backend::Stream::create(group_));
  SLUICE_TRY(stream.submit(list, {}));
  SLUICE_TRY(stream.wait());

  std::vector<ir::Constant> constants;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const ir::OperandId id = operation.outputs[i];
    constants.push_back(
        id.is_valid() ? ir::Constant{subgraph.operand(id).type, std::move(results[i]).freeze()}
                      : ir::Constant());
  }
  return constants;
}

}  // namespace sluice::compile
