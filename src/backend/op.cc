#include "backend/op.h"

#include "backend/op_storage.h"

namespace sluice::backend {
namespace {

Result<sluice_operand> make_operand(OpStorage& storage, const OpSource& source, ir::OperandId id) {
  sluice_operand made = {};
  if (!id.is_valid()) return made;
  const ir::Operand& operand = source.subgraph.operand(id);
  if (operand.constant) {
    const auto value = source.values.find(id);
    made.tensor = SLUICE_TRY(make_constant(
        storage, value == source.values.end() ? *operand.constant
                                              : ir::Constant{operand.type, value->second}));
    made.is_constant = 1;
  } else {
    const ir::Type type = source.type_of ? source.type_of(id) : operand.type;
    made.tensor = SLUICE_TRY(make_tensor(storage.dims.emplace_back(), type));
  }
  return made;
}

Status make_operands(OpStorage& storage, const OpSource& source,
                     const std::vector<ir::OperandId>& ids, std::vector<sluice_operand>& operands) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    auto made = make_operand(storage, source, ids[i]);
    if (!made.is_ok()) {
      const std::string& name = source.subgraph.operand(ids[i]).name;
      return std::move(made).status().with_context(fmt::format("operand \"{}\"", name));
    }
    operands.push_back(*made);
  }
  return ok_status();
}

void add_packed(OpStorage& storage, const OpSource& source) {
  const std::size_t count = std::min(source.packed.size(), storage.inputs.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (source.packed[i].empty()) continue;
    sluice_operand& input = storage.inputs[i];
    input.packed = source.packed[i].data();
    input.packed_bytes = static_cast<std::int64_t>(source.packed[i].size());
  }
}

/// Plug-ins may read the value of a constant that is not packed.
Status check_values(const std::vector<sluice_operand>& operands) {
  for (const sluice_operand& operand : operands) {
    const bool has_value = operand.tensor.data != nullptr || operand.packed != nullptr;
    if (operand.is_constant == 0 || has_value || operand.tensor.size_bytes == 0) continue;
    return make_error(Code::kFailedPrecondition,
                      "a constant has no value and no packed form: it was compiled with "
                      "--packed-only; compile the model without");
  }
  return ok_status();
}

Status fill(OpStorage& storage, const OpSource& source) {
  const ir::Operation& operation = storage.operation;
  SLUICE_TRY(make_operands(storage, source, operation.inputs, storage.inputs));
  SLUICE_TRY(make_operands(storage, source, operation.outputs, storage.outputs));
  add_packed(storage, source);
  SLUICE_TRY(check_values(storage.inputs));
  const auto* attributes = SLUICE_TRY(make_attributes(storage, operation.attributes));
  if (operation.body) {
    SLUICE_TRY(make_operands(storage, source, operation.body->inputs, storage.body_inputs));
    SLUICE_TRY(check_values(storage.body_inputs));
    SLUICE_TRY(make_body(storage, source.graph.subgraph(operation.body->subgraph)));
  }
  sluice_op& op = storage.op;
  op.struct_size = sizeof(op);
  op.version = operation.version;
  op.domain = operation.domain.c_str();
  op.kind = operation.kind.c_str();
  op.name = operation.name.c_str();
  op.num_inputs = static_cast<std::int32_t>(storage.inputs.size());
  op.num_outputs = static_cast<std::int32_t>(storage.outputs.size());
  op.num_body_inputs = static_cast<std::int32_t>(storage.body_inputs.size());
  op.num_attributes = static_cast<std::int32_t>(attributes->size());
  op.inputs = storage.inputs.data();
  op.outputs = storage.outputs.data();
  op.body_inputs = storage.body_inputs.data();
  op.attributes = attributes->data();
  return ok_status();
}

/// An operation with operands of its own, and all else of another.
struct Retyped {
  sluice_op op;
  std::vector<sluice_operand> operands;  ///< inputs, outputs, inputs of the body
  std::vector<std::int64_t> dims;
  std::shared_ptr<const sluice_op> first;

  /// Copies operands; operands without a constant value get other types.
  Status add(const sluice_operand* from, const std::vector<ir::OperandId>& ids,
             const std::function<const ir::Type&(ir::OperandId)>& type_of) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      sluice_operand& operand = operands.emplace_back(from[i]);
      if (!ids[i].is_valid() || operand.is_constant != 0) continue;
      operand.tensor = SLUICE_TRY(make_tensor(dims, type_of(ids[i])));
    }
    return ok_status();
  }
};

}  // namespace

Result<Op> Op::create(const OpSource& source) {
  const auto storage = std::make_shared<OpStorage>();
  storage->operation = source.operation;
  Status filled = fill(*storage, source);
  if (!filled.is_ok()) return std::move(filled).with_context(source.operation.describe());
  return Op(std::shared_ptr<const sluice_op>(storage, &storage->op));
}

Result<Op> Op::with_types(const ir::Operation& operation,
                          const std::function<const ir::Type&(ir::OperandId)>& type_of) const {
  static const std::vector<ir::OperandId> kNone;
  const std::vector<ir::OperandId>& extra = operation.body ? operation.body->inputs : kNone;
  const auto made = std::make_shared<Retyped>();
  // Counted first: operands point into `dims`, which must not move when it grows.
  std::size_t num_dims = 0;
  for (const auto* ids : {&operation.inputs, &operation.outputs, &extra}) {
    for (const ir::OperandId id : *ids) {
      const ir::Shape* shape = id.is_valid() ? type_of(id).shape() : nullptr;
      num_dims += shape == nullptr ? 0 : shape->size();
    }
  }
  made->dims.reserve(num_dims);
  made->operands.reserve(operation.inputs.size() + operation.outputs.size() + extra.size());
  Status added = made->add(op_->inputs, operation.inputs, type_of);
  if (added.is_ok()) added = made->add(op_->outputs, operation.outputs, type_of);
  if (added.is_ok()) added = made->add(op_->body_inputs, extra, type_of);
  if (!added.is_ok()) return std::move(added).with_context(operation.describe());
  // Keeps alive what this one shares with it: texts, attributes and constants. Always the original,
  // so that retyping again and again makes no chain.
  made->first = first_ != nullptr ? first_ : op_;
  made->op = *op_;
  made->op.inputs = made->operands.data();
  made->op.outputs = made->op.inputs + operation.inputs.size();
  made->op.body_inputs = made->op.outputs + operation.outputs.size();
  return Op(std::shared_ptr<const sluice_op>(made, &made->op), made->first);
}

std::string Op::describe() const { return fmt::format("node \"{}\" ({})", op_->name, op_->kind); }

}  // namespace sluice::backend
