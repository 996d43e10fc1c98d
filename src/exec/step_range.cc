#include "exec/step_range.h"

#include <algorithm>

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
                                          const ir::Operation& operation, const Facts& facts) {
  std::vector<ir::OperandId> missing;
  for (std::size_t i = 0; i < operation.inputs.size() && i < schema.inputs.size(); ++i) {
    const ir::OperandId input = operation.inputs[i];
    if (!schema.inputs[i].is_shape_value || !input.is_valid()) continue;
    if (!has_known_elements(facts.of(input))) missing.push_back(input);
  }
  return missing;
}

void keep_outputs(const ir::Subgraph& subgraph, const ir::Operation& operation,
                  const ops::InferenceContext& context, Facts& facts, const Facts* similar) {
  for (std::size_t i = 0; i < operation.outputs.size(); ++i) {
    const ir::OperandId output = operation.outputs[i];
    if (!output.is_valid()) continue;
    // Inference does not know layouts; the operand's was chosen by the compiler.
    const ir::Layout layout = subgraph.operand(output).type.layout();
    facts.set(output,
              {context.output(i).with_layout(layout), context.output_values(i), std::nullopt},
              similar);
  }
}

/// Results of the executor's own steps have no known type before the step has run.
void forget_outputs(const ir::Subgraph& subgraph, const ir::Operation& operation, Facts& facts) {
  for (const ir::OperandId output : operation.outputs) {
    if (output.is_valid()) facts.set(output, {subgraph.operand(output).type, {}, {}});
  }
}

/// Whether the step at `at` gives what it gave in `similar`, as a step within that range.
bool is_unchanged(const ir::Operation& operation, std::size_t at, const Facts& facts,
                  const SimilarRange& similar) {
  const StepRange& range = similar.range;
  const bool has_special_end = range.has_data_dependent_end || range.has_executor_end;
  // The last step of a range ends it for a reason that depends on data, so it is looked at anew.
  if (at + (has_special_end ? 1 : 0) >= range.end) return false;
  const auto is_same = [&](ir::OperandId id) { return facts.is_same(id, similar.facts); };
  return std::ranges::all_of(operation.inputs, is_same) &&
         (!operation.body || std::ranges::all_of(operation.body->inputs, is_same));
}

/// Types of a fused body's outputs; a body has no subgraphs of its own.
Result<std::vector<ir::Type>> infer_body(const ir::Subgraph& body,
                                         std::span<const ir::Type> inputs) {
  if (inputs.size() != body.inputs.size()) {
    return invalid_argument("body \"{}\" takes {} inputs, not {}", body.name, body.inputs.size(),
                            inputs.size());
  }
  Facts facts = initial_facts(body);
  for (std::size_t i = 0; i < inputs.size(); ++i) facts.set(body.inputs[i], {inputs[i], {}, {}});
  for (const ir::OperationId id : body.order()) {
    const ir::Operation& operation = body.operation(id);
    const auto operands = facts.inputs_of(operation);
    ops::InferenceContext context(operation, operands);
    SLUICE_TRY(ops::infer_operation(context));
    keep_outputs(body, operation, context, facts, nullptr);
  }
  std::vector<ir::Type> outputs;
  for (const ir::OperandId output : body.outputs) outputs.push_back(facts.type_of(output));
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
    Facts facts = initial_facts(subgraph);
    for (std::size_t i = 0; i < inputs.size(); ++i) facts.set(subgraph.inputs[i], inputs[i]);
    for (const ir::OperationId at : subgraph.order()) {
      const ir::Operation& operation = subgraph.operation(at);
      const auto operands = facts.inputs_of(operation);
      ops::InferenceContext context(operation, operands, &nested_);
      context.hide_bounds();
      context.set_subgraph(id);
      // A branch that does not run may be wrong for these inputs; that is no error of the run.
      if (ops::infer_operation(context).is_ok()) {
        keep_outputs(subgraph, operation, context, facts, nullptr);
      } else {
        forget_outputs(subgraph, operation, facts);
      }
    }
    std::vector<ir::Type> outputs;
    for (const ir::OperandId output : subgraph.outputs) {
      const ir::Type& told = facts.type_of(output);
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

Facts initial_facts(const ir::Subgraph& subgraph) {
  Facts facts(subgraph.num_operands());
  for (std::size_t i = 0; i < facts.size(); ++i) {
    const ir::OperandId id(i);
    if (subgraph.is_constant(id)) facts.set(id, ops::facts_of(subgraph.operand(id)));
  }
  facts.freeze();
  return facts;
}

Result<StepRange> plan_range(const ir::Graph& graph, const ir::Subgraph& subgraph,
                             std::size_t begin, Facts& facts, const SimilarRange* similar) {
  const ops::SubgraphInference bodies = {graph,
                                         [&](ir::SubgraphId id, std::span<const ir::Type> types) {
                                           return infer_body(graph.subgraph(id), types);
                                         }};
  const Facts* similar_facts = similar == nullptr ? nullptr : &similar->facts;
  // At the top of each turn: the steps [begin, end) have static shapes, and `facts` holds the types
  // of all that they write.
  StepRange range{begin, begin, {}, false, false};
  const auto order = subgraph.order();
  for (; range.end < order.size(); ++range.end) {
    const ir::Operation& operation = subgraph.operation(order[range.end]);
    if (similar != nullptr && is_unchanged(operation, range.end, facts, *similar)) {
      for (const ir::OperandId output : operation.outputs) {
        if (output.is_valid()) facts.take(output, *similar_facts);
      }
      continue;
    }
    const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
    if (schema == nullptr) return unimplemented("{}: no such operator", operation.describe());
    const auto inputs = facts.inputs_of(operation);
    if (is_executor_step(*schema, inputs)) {
      forget_outputs(subgraph, operation, facts);
      // The executor runs this step between two ranges.
      range.has_executor_end = true;
      ++range.end;
      return range;
    }
    ops::InferenceContext context(operation, inputs, &bodies);
    SLUICE_TRY(ops::infer_operation(context));
    // Values are missing because no run has computed them yet: the range ends before this step, and
    // the next starts with it once its inputs were read from memory. If none is missing, no run
    // will help.
    if (!all_outputs_static(context)) {
      range.wanted_values = missing_values(*schema, operation, facts);
      if (!range.wanted_values.empty()) return range;
      return invalid_argument("{}: the shape of its output cannot be determined",
                              operation.describe());
    }
    keep_outputs(subgraph, operation, context, facts, similar_facts);
    if (schema->has(ops::kDataDependentShape)) {
      range.has_data_dependent_end = true;
      ++range.end;
      return range;
    }
  }
  return range;
}

}  // namespace sluice::exec
