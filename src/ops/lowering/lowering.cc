#include "ops/lowering/lowering.h"

#include <algorithm>

namespace sluice::ops {

Lowering::AttributeList Lowering::own_attributes(
    std::initializer_list<std::string_view> names) const {
  AttributeList list;
  for (const auto& [name, value] : operation_.attributes) {
    if (std::find(names.begin(), names.end(), name) != names.end()) list.emplace_back(name, value);
  }
  return list;
}

Result<std::vector<ir::Dim>> Lowering::shape(std::size_t index) const {
  const ir::Type& type = subgraph_.operand(input(index)).type;
  if (type.is_tensor() && type.shape() != nullptr) return *type.shape();
  return unimplemented("the rank of input {} is not known; export the model with shapes", index);
}

Result<std::size_t> Lowering::rank(std::size_t index) const {
  return SLUICE_TRY(shape(index)).size();
}

Result<ir::Dim> Lowering::size(std::size_t index, std::size_t axis) const {
  const auto dims = SLUICE_TRY(shape(index));
  if (axis < dims.size()) return dims[axis];
  return error("input {} has rank {}; it needs a dimension {}", index, dims.size(), axis);
}

Result<std::int64_t> Lowering::dim(std::size_t index, std::size_t axis) const {
  const ir::Dim known = SLUICE_TRY(size(index, axis));
  if (known.is_known()) return known.value();
  return unimplemented(
      "dimension {} of input {} is unknown; export the model with a fixed dimension", axis, index);
}

/// An operation of the newest version, with the node's name: errors and profiles name what the user
/// wrote.
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
  // Absent inputs at the end are left out.
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

/// The last operation writes outputs of the lowered one; -1 stands for an output that nobody reads.
Status Lowering::finish(std::string_view kind, Inputs inputs, const AttributeList& attributes,
                        const std::vector<int>& outputs, std::string_view domain) {
  ir::Operation made = SLUICE_TRY(make(kind, std::move(inputs), attributes, domain));
  for (const int index : outputs) {
    const auto place = static_cast<std::size_t>(index);
    made.outputs.push_back(index < 0 ? ir::OperandId() : operation_.output(place));
    if (index >= 0) written_.push_back(place);
  }
  while (made.outputs.size() > 1 && !made.outputs.back().is_valid()) made.outputs.pop_back();
  // The first output may not be absent.
  if (!made.outputs[0].is_valid()) made.outputs[0] = subgraph_.add_operand({});
  subgraph_.insert_operation(at_, std::move(made));
  return ok_status();
}

Result<ir::OperandId> Lowering::cast(ir::OperandId x, ir::ElementType element) {
  return emit("Cast", {x}, {{"to", static_cast<std::int64_t>(element)}});
}

Status Lowering::finish_cast(ir::OperandId x, ir::ElementType element) {
  return finish("Cast", {x}, {{"to", static_cast<std::int64_t>(element)}});
}

Result<ir::OperandId> Lowering::axis_length(ir::OperandId x, std::int64_t axis) {
  return emit("Shape", {x}, {{"start", axis}, {"end", axis + 1}});
}

Result<ir::OperandId> Lowering::count_up(ir::OperandId length) {
  const ir::OperandId limit = SLUICE_TRY(emit("Squeeze", {length}));
  return emit("Range", {integer(0), limit, integer(1)});
}

ir::OperandId Lowering::integer(std::int64_t value) {
  return constant(ir::make_i64_constant({value}, {}));
}

ir::OperandId Lowering::ints(const std::vector<std::int64_t>& values) {
  return constant(ir::make_i64_constant(values, {static_cast<std::int64_t>(values.size())}));
}

Result<ir::OperandId> Lowering::number(float value, std::size_t like) {
  const ir::OperandId id = constant(ir::make_f32_constant({value}, {}));
  const ir::ElementType wanted = element(like);
  if (wanted == ir::ElementType::kF32 || wanted == ir::ElementType::kUndefined) return id;
  return cast(id, wanted);
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

}  // namespace sluice::ops
