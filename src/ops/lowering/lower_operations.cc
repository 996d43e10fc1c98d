#include "ops/lowering/lower_operations.h"

#include <map>

#include "ops/families.h"

namespace sluice::ops {
namespace {

using Key = std::pair<std::string_view, std::string_view>;

const std::vector<LoweredOperator>& all_lowered() {
  static const std::vector<LoweredOperator> kAll = [] {
    std::vector<LoweredOperator> all;
    for (const auto& family :
         {lowered_activations(), lowered_products(), lowered_block_weights(),
          lowered_block_gathers(), lowered_normalizations(), lowered_quantized(),
          lowered_attention(), lowered_group_query(), lowered_movement(), lowered_recurrent(),
          lowered_bnb_weights(), lowered_experimental(), lowered_caffe2()}) {
      all.insert(all.end(), family.begin(), family.end());
    }
    return all;
  }();
  return kAll;
}

/// Emits the replacing operations in front of the operation, where they write its outputs, and
/// removes it.
Status lower_one(ir::Subgraph& subgraph, ir::OperationId at, LowerFn lower, bool has_values) {
  Lowering lowering(subgraph, at, has_values);
  const std::string where = lowering.operation().describe();
  SLUICE_TRY(lower(lowering).with_context(where));
  SLUICE_TRY(lowering.check_complete().with_context(where));
  subgraph.remove_operation(at);
  return ok_status();
}

}  // namespace

LowerFn find_lowering(std::string_view domain, std::string_view name) {
  static const std::map<Key, LowerFn> kTable = [] {
    std::map<Key, LowerFn> table;
    for (const LoweredOperator& op : all_lowered())
      table.emplace(Key(op.domain, op.name), op.lower);
    for (const auto& family : {category_lowerings(), feature_lowerings(), linear_lowerings(),
                               map_lowerings(), svm_lowerings()}) {
      for (const auto& [name_in_ml, lower] : family)
        table.emplace(Key("ai.onnx.ml", name_in_ml), lower);
    }
    return table;
  }();
  const auto found = kTable.find(Key(domain, name));
  return found == kTable.end() ? nullptr : found->second;
}

Status lower_operations(ir::Graph& graph) {
  for (std::size_t i = 0; i < graph.num_subgraphs(); ++i) {
    ir::Subgraph& subgraph = graph.subgraph(ir::SubgraphId(i));
    // A copy: lowerings add and remove operations. What they add is never lowered again.
    const std::vector<ir::OperationId> order(subgraph.order().begin(), subgraph.order().end());
    for (const ir::OperationId at : order) {
      const ir::Operation& operation = subgraph.operation(at);
      LowerFn lower = find_lowering(operation.domain, operation.kind);
      if (lower == nullptr) lower = find_tree_lowering(operation);
      if (lower != nullptr) SLUICE_TRY(lower_one(subgraph, at, lower, true));
    }
  }
  return ok_status();
}

Status infer_lowered(InferenceContext& context) {
  ir::Subgraph scratch;
  SubgraphFacts facts;
  ir::Operation copy = context.operation();
  for (std::size_t i = 0; i < copy.inputs.size(); ++i) {
    if (!copy.inputs[i].is_valid()) continue;
    OperandFacts known = {context.input(i), std::nullopt, std::nullopt};
    if (context.values(i) != nullptr) known.values = *context.values(i);
    if (context.float_values(i) != nullptr) known.float_values = *context.float_values(i);
    copy.inputs[i] = scratch.add_operand({"", known.type, std::nullopt});
    facts.push_back(std::move(known));
  }
  for (ir::OperandId& output : copy.outputs) {
    if (output.is_valid()) output = scratch.add_operand({});
  }
  // Kept, because add_operation takes `copy`; a lowering writes to the same operands.
  const std::vector<ir::OperandId> outputs = copy.outputs;
  const LowerFn lower = find_lowering(copy.domain, copy.kind);
  // Shapes are those of the operations that the operator becomes: each rule exists once.
  SLUICE_TRY(lower_one(scratch, scratch.add_operation(std::move(copy)), lower, false));
  // Outputs and constants that the lowering made; input_facts indexes by operand.
  while (facts.size() < scratch.num_operands()) {
    facts.push_back(facts_of(scratch.operand(ir::OperandId(facts.size()))));
  }
  for (const ir::OperationId at : scratch.order()) {
    const ir::Operation& operation = scratch.operation(at);
    const auto inputs = input_facts(operation, facts);
    InferenceContext inner(operation, inputs);
    inner.hide_bounds();
    SLUICE_TRY(infer_operation(inner).with_context(context.operation().describe()));
    for (std::size_t i = 0; i < operation.outputs.size(); ++i) {
      if (!operation.outputs[i].is_valid()) continue;
      facts[operation.outputs[i].index()] = {inner.output(i), inner.output_values(i), {}};
    }
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].is_valid()) context.set_output(i, facts[outputs[i].index()].type);
  }
  return ok_status();
}

std::vector<OpSchema> contrib_ops() {
  std::vector<OpSchema> schemas;
  for (const LoweredOperator& op : all_lowered()) {
    OpSchema schema = {.domain = op.domain,
                       .name = op.name,
                       .versions = {1},
                       .doc = op.doc,
                       .inputs = op.inputs,
                       .outputs = {},
                       .attributes = op.attributes,
                       .infer = infer_lowered};
    for (const std::string_view name : op.outputs) {
      schema.outputs.push_back({name, kAllTensors, "", !schema.outputs.empty()});
    }
    schemas.push_back(std::move(schema));
  }
  return schemas;
}

}  // namespace sluice::ops
