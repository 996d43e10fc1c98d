// Fused bodies: a straight-line subgraph as steps over registers.
#include <unordered_map>

#include "backend/op_storage.h"

namespace sluice::backend {
namespace {

using RegisterMap = std::unordered_map<ir::OperandId, std::int32_t>;

void number(RegisterMap& registers, ir::OperandId operand) {
  registers.emplace(operand, static_cast<std::int32_t>(registers.size()));
}

/// Subgraph inputs, then constants that some step reads, in the order of reading.
Result<RegisterMap> number_first_registers(OpStorage& storage, const ir::Subgraph& body) {
  RegisterMap registers;
  for (const ir::OperandId input : body.inputs) number(registers, input);
  if (registers.size() != body.inputs.size()) {
    return invalid_argument("its body has one input twice");
  }
  const auto add_constant = [&](ir::OperandId operand) -> Status {
    const ir::Constant* constant = body.find_constant(operand);
    if (constant == nullptr || registers.contains(operand)) return ok_status();
    number(registers, operand);
    storage.body_constants.push_back(SLUICE_TRY(make_constant(storage, *constant)));
    return ok_status();
  };
  for (const ir::OperationId id : body.order()) {
    for (const ir::OperandId input : body.operation(id).inputs) SLUICE_TRY(add_constant(input));
  }
  for (const ir::OperandId output : body.outputs) SLUICE_TRY(add_constant(output));
  return registers;
}

Result<std::int32_t> find_register(const RegisterMap& registers, ir::OperandId operand) {
  if (!operand.is_valid()) return -1;
  const auto found = registers.find(operand);
  if (found == registers.end())
    return invalid_argument("its body reads a register that no step writes");
  return found->second;
}

Status add_step(OpStorage& storage, RegisterMap& registers, const ir::Operation& operation) {
  if (operation.outputs.size() != 1 || operation.body || !operation.domain.empty()) {
    return invalid_argument("its body has the step {}, which is not element-wise",
                            operation.describe());
  }
  const ir::Operation& kept = storage.steps.emplace_back(operation);
  std::vector<std::int32_t>& inputs = storage.registers.emplace_back();
  for (const ir::OperandId input : kept.inputs) {
    inputs.push_back(SLUICE_TRY(find_register(registers, input)));
  }
  const auto* attributes = SLUICE_TRY(make_attributes(storage, kept.attributes));
  storage.body_steps.push_back({.kind = kept.kind.c_str(),
                                .version = kept.version,
                                .num_inputs = static_cast<std::int32_t>(inputs.size()),
                                .inputs = inputs.data(),
                                .num_attributes = static_cast<std::int32_t>(attributes->size()),
                                .attributes = attributes->data()});
  number(registers, kept.output(0));
  return ok_status();
}

}  // namespace

// Registers, by number:
//
//   inputs of the body | constants | results of the steps, in their order
//
// so that a step's result needs no number of its own.
Status make_body(OpStorage& storage, const ir::Subgraph& body) {
  if (body.outputs.size() != 1) {
    return invalid_argument("its body has {} outputs; it must have one", body.outputs.size());
  }
  RegisterMap registers = SLUICE_TRY(number_first_registers(storage, body));
  for (const ir::OperationId id : body.order()) {
    SLUICE_TRY(add_step(storage, registers, body.operation(id)));
  }
  storage.body = {.num_inputs = static_cast<std::int32_t>(body.inputs.size()),
                  .num_constants = static_cast<std::int32_t>(storage.body_constants.size()),
                  .constants = storage.body_constants.data(),
                  .num_steps = static_cast<std::int32_t>(storage.body_steps.size()),
                  .steps = storage.body_steps.data(),
                  .result = SLUICE_TRY(find_register(registers, body.outputs[0]))};
  if (storage.body.result < 0) return invalid_argument("its body has no result");
  storage.op.body = &storage.body;
  return ok_status();
}

}  // namespace sluice::backend
