#include "exec/step_range.h"

#include <algorithm>
#include <utility>

#include "exec/subgraph_code.h"

namespace sluice::exec {
namespace {

bool all_outputs_static(const ops::InferenceContext& context) {
  for (std::size_t i = 0; i < context.num_outputs(); ++i) {
    if (context.has_output(i) && !context.output(i).is_static()) return false;
  }
  return true;
}

bool has_known_elements(const ops::OperandFacts& facts) {
  if (facts.float_values) return true;
  return facts.values && std::all_of(facts.values->begin(), facts.values->end(),
                                     [](const ir::Dim& value) { return value.is_known(); });
}

/// Inputs whose elements the shape function needs and that have not been read from memory yet.
std::vector<ir::OperandId> missing_values(const ops::OpSchema& schema,
                                          const ir::Operation& operation,
                                          const ops::SubgraphFacts& facts) {
  std::vector<ir::OperandId> missing;
  for (std::size_t i = 0; i < operation.inputs.size() && i < schema.inputs.size(); ++i) {
    const ir::OperandId input = operation.inputs[i];
    if (!schema.inputs[i].is_shape_value || !input.is_valid()) continue;
    if (!has_known_elements(facts[input.index()])) missing.push_back(input);
  }
  return missing;
}

void keep_outputs(const ir::Subgraph& subgraph, const ir::Operation& operation,
                  const ops::InferenceContext& context, ops::SubgraphFacts& facts) {
  for (std::size_t i = 0; i < operation.outputs.size(); ++i) {
    const ir::OperandId output = operation.outputs[i];
    if (!output.is_valid()) continue;
    const ir::Layout layout = subgraph.operand(output).type.layout();
    facts[output.index()] = {context.output(i).with_layout(layout), context.output_values(i),
                             std::nullopt};
  }
}

/// Results of the executor's own steps have no known type before the step has run.
void forget_outputs(const ir::Subgraph& subgraph, const ir::Operation& operation,
                    ops::SubgraphFacts& facts) {
  for (const ir::OperandId output : operation.outputs) {
    if (output.is_valid()) facts[output.index()] = {subgraph.operand(output).type, {}, {}};
  }
}

/// Types of a fused body's outputs; a body has no subgraphs of its own.
Result<std::vector<ir::Type>> infer_body(const ir::Subgraph& body,
                                         std::span<const ir::Type> inputs) {
  if (inputs.size() != body.inputs.size()) {
    return invalid_argument("body \"{}\" takes {} inputs, not {}", body.name, body.inputs.size(),
                            inputs.size());
  }
  ops::SubgraphFacts facts = initial_facts(body);
  for (std::size_t i = 0; i < inputs.size(); ++i) facts[body.inputs[i].index()].type = inputs[i];
  for (const ir::OperationId id : body.order()) {
    const ir::Operation& operation = body.operation(id);
    const auto operands = ops::input_facts(operation, facts);
    ops::InferenceContext context(operation, operands);
    SLUICE_TRY(ops::infer_operation(context));
    keep_outputs(body, operation, context, facts);
  }
  std::vector<ir::Type> outputs;
  for (const ir::OperandId output : body.outputs) outputs.push_back(facts[output.index()].type);
  return outputs;
}

/// Shape functions over subgraphs that do not run, with those nested in them.
class UnrunTypes {
 public:
  explicit UnrunTypes(const ir::Graph& graph)
      : graph_(graph), nested_{graph, [this](ir::SubgraphId id, std::span<const ir::Type> types) {
                                 return infer_nested(id, types);
                               }} {}

  std::vector<ir::Type> infer(ir::SubgraphId id, std::span<const ops::OperandFacts> inputs) {
    const ir::Subgraph& subgraph = graph_.subgraph(id);
    ops::SubgraphFacts facts = initial_facts(subgraph);
    for (std::size_t i = 0; i < inputs.size(); ++i) facts[subgraph.inputs[i].index()] = inputs[i];
    for (const ir::OperationId at : subgraph.order()) {
      const ir::Operation& operation = subgraph.operation(at);
      const auto operands = ops::input_facts(operation, facts);
      ops::InferenceContext context(operation, operands, &nested_);
      context.hide_bounds();
      context.set_subgraph(id);
      if (ops::infer_operation(context).is_ok()) {
        keep_outputs(subgraph, operation, context, facts);
      } else {
        forget_outputs(subgraph, operation, facts);
      }
    }
    std::vector<ir::Type> outputs;
    for (const ir::OperandId output : subgraph.outputs) {
      const ir::Type& told = facts[output.index()].type;
      const bool is_told = !told.is_tensor() || told.element() != ir::ElementType::kUndefined;
      outputs.push_back(is_told ? told : subgraph.operand(output).type);
    }
    return outputs;
  }

 private:
  // A loop infers its body until the types hold, so nested loops multiply.
  static constexpr int kMaxDepth = 4;

  Result<std::vector<ir::Type>> infer_nested(ir::SubgraphId id, std::span<const ir::Type> types) {
    if (!id.is_valid() || id.index() >= graph_.num_subgraphs() || depth_ == kMaxDepth ||
        types.size() != graph_.subgraph(id).inputs.size()) {
      return invalid_argument("subgraph {} cannot be inferred", id.value());
    }
    std::vector<ops::OperandFacts> inputs;
    for (const ir::Type& type : types) inputs.push_back({type, std::nullopt, std::nullopt});
    ++depth_;
    std::vector<ir::Type> outputs = infer(id, inputs);
    --depth_;
    return outputs;
  }

  const ir::Graph& graph_;
  ops::SubgraphInference nested_;
  int depth_ = 0;
};

}  // namespace

std::vector<ir::Type> infer_without_run(const ir::Graph& graph, ir::SubgraphId id,
                                        std::span<const ops::OperandFacts> inputs) {
  return UnrunTypes(graph).infer(id, inputs);
}

ops::SubgraphFacts initial_facts(const ir::Subgraph& subgraph) {
  ops::SubgraphFacts facts(subgraph.num_operands());
  for (std::size_t i = 0; i < facts.size(); ++i) {
    const ir::OperandId id(i);
    if (subgraph.is_constant(id)) facts[i] = ops::facts_of(subgraph.operand(id));
  }
  return facts;
}

Result<StepRange> plan_range(const ir::Graph& graph, const ir::Subgraph& subgraph,
                             std::size_t begin, ops::SubgraphFacts& facts) {
  const ops::SubgraphInference bodies = {graph,
                                         [&](ir::SubgraphId id, std::span<const ir::Type> types) {
                                           return infer_body(graph.subgraph(id), types);
                                         }};
  StepRange range{begin, begin, {}, false, false};
  for (; range.end < subgraph.order().size(); ++range.end) {
    const ir::Operation& operation = subgraph.operation(subgraph.order()[range.end]);
    const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
    if (schema == nullptr) return unimplemented("{}: no such operator", operation.describe());
    const auto inputs = ops::input_facts(operation, facts);
    if (is_executor_step(*schema, inputs)) {
      forget_outputs(subgraph, operation, facts);
      range.has_executor_end = true;
      ++range.end;
      return range;
    }
    ops::InferenceContext context(operation, inputs, &bodies);
    SLUICE_TRY(ops::infer_operation(context));
    if (!all_outputs_static(context)) {
      range.wanted_values = missing_values(*schema, operation, facts);
      if (!range.wanted_values.empty()) return range;
      return invalid_argument("{}: the shape of its output cannot be determined",
                              operation.describe());
    }
    keep_outputs(subgraph, operation, context, facts);
    if (schema->has(ops::kDataDependentShape)) {
      range.has_data_dependent_end = true;
      ++range.end;
      return range;
    }
  }
  return range;
}

}  // namespace sluice::exec
