#include "ops/contrib/lowering.h"

#include <algorithm>
#include <map>

#include "ops/ml/lowerings.h"
namespace sluice::ops {
namespace {

using Key = std::pair<std::string_view, std::string_view>;

const std::vector<LoweredOperator>& all_lowered() {
  static const std::vector<LoweredOperator> kAll = [] {
    std::vector<LoweredOperator> all;
    for (const auto& family :
         {lowered_activations(), lowered_products(), lowered_normalizations(), lowered_quantized(),
          lowered_attention(), lowered_group_query(), lowered_movement()}) {
      all.insert(all.end(), family.begin(), family.end());
    }
    return all;
  }();
  return kAll;
}

Status lower_one(ir::Subgraph& subgraph, ir::OperationId at, LowerFn lower, bool has_values) {
  Lowering lowering(subgraph, at, has_values);
  const std::string where = lowering.operation().describe();
  SLUICE_TRY(lower(lowering).with_context(where));
  SLUICE_TRY(lowering.check_complete().with_context(where));
  subgraph.remove_operation(at);
  return ok_status();
}

}  // namespace

Result<std::vector<ir::Dim>> Lowering::shape(std::size_t index) const {
  const ir::Type& type = subgraph_.operand(input(index)).type;
  if (type.is_tensor() && type.shape() != nullptr) return *type.shape();
  return unimplemented("the rank of input {} is not known; export the model with shapes", index);
}

Result<std::size_t> Lowering::rank(std::size_t index) const {
  return SLUICE_TRY(shape(index)).size();
}

Result<std::int64_t> Lowering::dim(std::size_t index, std::size_t axis) const {
  const auto dims = SLUICE_TRY(shape(index));
  if (axis >= dims.size()) return error("input {} has rank {}", index, dims.size());
  if (dims[axis].is_known()) return dims[axis].value();
  return unimplemented("dimension {} of input {} is not known; export the model with it", axis,
                       index);
}

Result<ir::Operation> Lowering::make(std::string_view kind, Inputs inputs,
                                     const AttributeList& attributes, std::string_view domain) {
  const OpSchema* schema = find_schema(domain, kind);
  if (schema == nullptr) return internal_error("no operator {}", kind);
  ir::Operation made;
  made.domain = domain;
  made.kind = kind;
  made.version = schema->newest_version();
  made.name = operation_.name;
  made.inputs = std::move(inputs);
  while (!made.inputs.empty() && !made.inputs.back().is_valid()) made.inputs.pop_back();
  for (const auto& [name, value] : attributes) made.attributes.set(name, value);
  SLUICE_TRY(normalize(*schema, subgraph_, made));
  return made;
}

Result<ir::OperandId> Lowering::emit(std::string_view kind, Inputs inputs,
                                     const AttributeList& attributes, std::string_view domain) {
  ir::Operation made = SLUICE_TRY(make(kind, std::move(inputs), attributes, domain));
  made.outputs = {subgraph_.add_operand({})};
  const ir::OperandId output = made.outputs[0];
  subgraph_.insert_operation(at_, std::move(made));
  return output;
}

Result<std::vector<ir::OperandId>> Lowering::emit_many(std::string_view kind, Inputs inputs,
                                                       std::size_t outputs,
                                                       const AttributeList& attributes,
                                                       std::string_view domain) {
  ir::Operation made = SLUICE_TRY(make(kind, std::move(inputs), attributes, domain));
  for (std::size_t i = 0; i < outputs; ++i) made.outputs.push_back(subgraph_.add_operand({}));
  std::vector<ir::OperandId> ids = made.outputs;
  subgraph_.insert_operation(at_, std::move(made));
  return ids;
}

Status Lowering::finish(std::string_view kind, Inputs inputs, const AttributeList& attributes,
                        const std::vector<int>& outputs, std::string_view domain) {
  ir::Operation made = SLUICE_TRY(make(kind, std::move(inputs), attributes, domain));
  for (const int index : outputs) {
    const auto place = static_cast<std::size_t>(index);
    made.outputs.push_back(index < 0 ? ir::OperandId() : operation_.output(place));
    if (index >= 0) written_.push_back(place);
  }
  while (made.outputs.size() > 1 && !made.outputs.back().is_valid()) made.outputs.pop_back();
  if (!made.outputs[0].is_valid()) made.outputs[0] = subgraph_.add_operand({});
  subgraph_.insert_operation(at_, std::move(made));
  return ok_status();
}

ir::OperandId Lowering::ints(const std::vector<std::int64_t>& values) {
  return constant(ir::make_i64_constant(values, {static_cast<std::int64_t>(values.size())}));
}

Result<ir::OperandId> Lowering::number(float value, std::size_t like) {
  const ir::OperandId id = constant(ir::make_f32_constant({value}, {}));
  const ir::ElementType wanted = element(like);
  if (wanted == ir::ElementType::kF32 || wanted == ir::ElementType::kUndefined) return id;
  return emit("Cast", {id}, {{"to", static_cast<std::int64_t>(wanted)}});
}

Result<ir::OperandId> Lowering::plus(ir::OperandId value, std::size_t index) {
  if (!has(index)) return value;
  return emit("Add", {value, input(index)});
}

Status Lowering::check_complete() const {
  for (std::size_t i = 0; i < operation_.outputs.size(); ++i) {
    const bool is_written = std::find(written_.begin(), written_.end(), i) != written_.end();
    if (!operation_.outputs[i].is_valid() || is_written) continue;
    return unimplemented("its output {} is not supported", i);
  }
  return ok_status();
}

LowerFn find_lowering(std::string_view domain, std::string_view name) {
  static const std::map<Key, LowerFn> kTable = [] {
    std::map<Key, LowerFn> table;
    for (const LoweredOperator& op : all_lowered())
      table.emplace(Key(op.domain, op.name), op.lower);
    for (const auto& [own, lower] : ml_lowerings()) table.emplace(Key("ai.onnx.ml", own), lower);
    return table;
  }();
  const auto found = kTable.find(Key(domain, name));
  return found == kTable.end() ? nullptr : found->second;
}

Status lower_operations(ir::Graph& graph) {
  for (std::size_t i = 0; i < graph.num_subgraphs(); ++i) {
    ir::Subgraph& subgraph = graph.subgraph(ir::SubgraphId(i));
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
  const std::vector<ir::OperandId> outputs = copy.outputs;
  const LowerFn lower = find_lowering(copy.domain, copy.kind);
  SLUICE_TRY(lower_one(scratch, scratch.add_operation(std::move(copy)), lower, false));
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
