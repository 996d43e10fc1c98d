#include "exec/stage.h"

#include <algorithm>
#include <utility>

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

/// Inputs that the shape function reads and nobody has read from memory yet.
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

void keep_outputs(const ir::Subgraph& main, const ir::Operation& operation,
                  const ops::InferenceContext& context, ops::SubgraphFacts& facts) {
  for (std::size_t i = 0; i < operation.outputs.size(); ++i) {
    const ir::OperandId output = operation.outputs[i];
    if (!output.is_valid()) continue;
    const ir::Type& compiled = main.operand(output).type;
    ir::Type type = context.output(i).with_layout(compiled.layout());
    if (operation.body) type = type.with_element(compiled.element());
    facts[output.index()] = {std::move(type), context.output_values(i), std::nullopt};
  }
}

}  // namespace

ops::SubgraphFacts initial_facts(const ir::Subgraph& main) {
  ops::SubgraphFacts facts(main.num_operands());
  for (std::size_t i = 0; i < facts.size(); ++i) {
    const ir::OperandId id(i);
    if (main.is_constant(id)) facts[i] = ops::facts_of(main.operand(id));
  }
  return facts;
}

Result<Stage> plan_stage(const ir::Subgraph& main, std::size_t begin, ops::SubgraphFacts& facts) {
  Stage stage{begin, begin, {}, false};
  for (; stage.end < main.order().size(); ++stage.end) {
    const ir::Operation& operation = main.operation(main.order()[stage.end]);
    const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
    if (schema == nullptr) return unimplemented("{}: no such operator", operation.describe());
    const auto inputs = ops::input_facts(operation, facts);
    ops::InferenceContext context(operation, inputs);
    SLUICE_TRY(ops::infer_operation(context));
    if (!all_outputs_static(context)) {
      stage.wanted_values = missing_values(*schema, operation, facts);
      if (!stage.wanted_values.empty()) return stage;
      return invalid_argument("{}: the shape of its output cannot be determined",
                              operation.describe());
    }
    keep_outputs(main, operation, context, facts);
    if (schema->has(ops::kDataDependentShape)) {
      stage.has_data_dependent_end = true;
      ++stage.end;
      return stage;
    }
  }
  return stage;
}

}  // namespace sluice::exec
