#include "exec/subgraph_code.h"

#include <algorithm>
#include <utility>

#include "backend/texts.h"

namespace sluice::exec {
namespace {

/// Inputs that a shape function reads, directly. What nested bodies read does not count, so control
/// flow is skipped.
std::vector<bool> find_shape_inputs(const ir::Subgraph& subgraph) {
  std::vector<bool> is_read(subgraph.num_operands(), false);
  for (const ir::OperationId id : subgraph.order()) {
    const ir::Operation& operation = subgraph.operation(id);
    const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
    if (schema == nullptr || schema->has(ops::kControlFlow)) continue;
    for (std::size_t i = 0; i < operation.inputs.size() && i < schema->inputs.size(); ++i) {
      const ir::OperandId input = operation.inputs[i];
      if (schema->inputs[i].is_shape_value && input.is_valid()) is_read[input.index()] = true;
    }
  }
  std::vector<bool> is_shape_input;
  for (const ir::OperandId input : subgraph.inputs) {
    is_shape_input.push_back(is_read[input.index()]);
  }
  return is_shape_input;
}

std::vector<std::size_t> find_last_reads(const ir::Subgraph& subgraph) {
  // 0 also for what nothing reads.
  std::vector<std::size_t> last_read(subgraph.num_operands(), 0);
  const auto order = subgraph.order();
  for (std::size_t at = 0; at < order.size(); ++at) {
    subgraph.operation(order[at]).for_each_read([&](ir::OperandId id) {
      if (id.is_valid()) last_read[id.index()] = at;
    });
  }
  return last_read;
}

Status decode_constants(SubgraphCode& code) {
  const ir::Subgraph& subgraph = *code.subgraph;
  for (std::size_t i = 0; i < subgraph.num_operands(); ++i) {
    const ir::OperandId id(i);
    const ir::Constant* constant = subgraph.find_constant(id);
    if (constant == nullptr || constant->type.element() != ir::ElementType::kString) continue;
    auto texts = backend::decode_texts(*constant);
    if (!texts.is_ok()) {
      return std::move(texts).status().with_context("constant \"" + subgraph.operand(id).name +
                                                    "\"");
    }
    // Kernels and the C API expect an address for every tensor.
    texts->reserve(1);  // an address even for none
    code.texts.emplace(id, std::move(texts).value());
  }
  return ok_status();
}

}  // namespace

const void* SubgraphCode::constant_data(ir::OperandId operand) const {
  const auto found = texts.find(operand);
  if (found != texts.end()) return found->second.data();
  return subgraph->find_constant(operand)->data.data();
}

Result<std::unique_ptr<SubgraphCode>> prepare_subgraph(const ir::Graph& graph, ir::SubgraphId id) {
  auto code = std::make_unique<SubgraphCode>();
  const ir::Subgraph& subgraph = graph.subgraph(id);
  code->id = id;
  code->subgraph = &subgraph;
  code->numbers = plan::binding_numbers(subgraph);
  code->initial_facts = initial_facts(subgraph);
  code->is_shape_input = find_shape_inputs(subgraph);
  code->last_read = find_last_reads(subgraph);
  code->last_use = code->last_read;
  for (const ir::OperandId output : subgraph.outputs) {
    // Past the end: the frame hands outputs on, so nothing may overwrite them within the run.
    code->last_use[output.index()] = subgraph.order().size();
  }
  for (std::size_t i = 0; i < subgraph.num_operands(); ++i) {
    code->has_values = code->has_values || !code->is_tensor(ir::OperandId(i));
  }
  SLUICE_TRY(decode_constants(*code));
  return code;
}

bool is_executor_step(const ops::OpSchema& schema,
                      std::span<const ops::OperandFacts* const> inputs) {
  if (schema.has(ops::kControlFlow)) return true;
  return std::any_of(inputs.begin(), inputs.end(), [](const ops::OperandFacts* facts) {
    const ir::Type::Kind kind = facts->type.kind();
    return kind == ir::Type::Kind::kSequence || kind == ir::Type::Kind::kOptional;
  });
}

}  // namespace sluice::exec
