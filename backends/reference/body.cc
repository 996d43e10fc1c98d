#include "reference/body.h"

#include <cstring>
#include <string>

#include "reference/broadcast.h"

namespace sluice::reference {
namespace {

using plugin::dims_of;
using plugin::kind_of;

std::int64_t size_in_bytes(const sluice_tensor& tensor) {
  return plugin::num_elements(tensor) * plugin::element_bits(tensor.element_type) / 8;
}

/// Stretches `source` over `target`, which has the same element type.
void copy_broadcast(const sluice_tensor& source, const sluice_tensor& target) {
  if (source.data == target.data) return;
  const int bytes = plugin::element_bits(target.element_type) / 8;
  const auto* from = static_cast<const std::byte*>(source.data);
  auto* to = static_cast<std::byte*>(target.data);
  for_each_broadcast(dims_of(target), std::array{dims_of(source)}, [&](auto i, const auto& at) {
    std::memcpy(to + i * bytes, from + at[0] * bytes, static_cast<std::size_t>(bytes));
  });
}

/// A body's step as a separate operation; `operands` are its inputs, then its output.
sluice_op step_op(const sluice_op& parent, const sluice_body_step& step,
                  const std::vector<sluice_operand>& operands) {
  sluice_op op = {};
  op.struct_size = sizeof(sluice_op);
  op.version = step.version;
  op.domain = "";
  op.kind = step.kind;
  op.name = parent.name;
  op.num_inputs = step.num_inputs;
  op.num_outputs = 1;
  // Registers in order: the operation's own result, if it has one; inputs; constants; a result per
  // step.
  op.num_attributes = step.num_attributes;
  op.inputs = operands.data();
  op.outputs = operands.data() + step.num_inputs;
  op.attributes = step.attributes;
  return op;
}

}  // namespace

Status check_body(const sluice_op& op) {
  BodyProgram program;
  return BodyProgram::make(op, &program);
}

Status BodyProgram::make(const sluice_op& op, BodyProgram* program) {
  const sluice_body& body = *op.body;
  program->add_first_registers(op);
  if (static_cast<std::int32_t>(program->num_inputs_) != body.num_inputs) {
    return plugin::invalid_argument(kind_of(op) + ": the body takes " +
                                    std::to_string(body.num_inputs) + " inputs, got " +
                                    std::to_string(program->num_inputs_));
  }
  for (std::size_t i = 0; i < program->registers_.size(); ++i) {
    if (Status status = program->check_register(op, i); !status.is_ok()) return status;
  }
  for (std::int32_t i = 0; i < body.num_steps; ++i) {
    Status status = program->add_step(op, body.steps[i]);
    if (status.is_ok()) status = program->check_register(op, program->registers_.size() - 1);
    if (!status.is_ok()) return status;
  }
  program->result_ = static_cast<std::size_t>(body.result);
  if (body.result < 0 || program->result_ >= program->registers_.size() ||
      program->registers_[program->result_].element_type != op.outputs[0].tensor.element_type) {
    return plugin::invalid_argument(kind_of(op) +
                                    ": the body's result is not of the output's type");
  }
  return plugin::ok();
}

void BodyProgram::add_first_registers(const sluice_op& op) {
  const bool has_own_result = std::string_view(op.kind) != "Elementwise";
  if (has_own_result) registers_.push_back(op.outputs[0].tensor);
  for (const sluice_operand& input : plugin::body_inputs_of(op)) registers_.push_back(input.tensor);
  num_inputs_ = registers_.size();
  registers_.insert(registers_.end(), op.body->constants,
                    op.body->constants + op.body->num_constants);
}

Status BodyProgram::check_register(const sluice_op& op, std::size_t index) const {
  const Dims target = dims_of(op.outputs[0].tensor);
  std::vector<std::int64_t> dims;
  Status status = broadcast_dims(dims_of(registers_[index]), target, &dims);
  if (status.is_ok() && dims.size() == target.size()) {
    // The output may have unknown dimensions, which any size fits.
    const auto is_fit = [](std::int64_t a, std::int64_t b) { return a == b || b < 0; };
    if (std::ranges::equal(dims, target, is_fit)) return status;
  }
  return plugin::invalid_argument(kind_of(op) + ": body register " + std::to_string(index) +
                                  " of shape " + plugin::to_string(dims_of(registers_[index])) +
                                  " does not broadcast to " + plugin::to_string(target));
}

Status BodyProgram::add_step(const sluice_op& op, const sluice_body_step& step) {
  auto made = std::make_unique<Step>();
  made->entry = find_kernel("", step.kind);
  if (made->entry == nullptr || !made->entry->is_elementwise()) {
    return plugin::unimplemented(kind_of(op) + ": no element-wise kernel for body step " +
                                 step.kind);
  }
  if (Status status = read_registers(step, *made); !status.is_ok()) {
    return {status.code, kind_of(op) + ": body step " + step.kind + ": " + status.text};
  }
  made->operands.emplace_back();
  made->op = step_op(op, step, made->operands);
  sluice_tensor result = {};
  result.element_type = made->entry->result_type(made->op);
  result.rank = static_cast<std::int32_t>(made->dims.size());
  // The vector is the step's own, and a step never moves: `result.dims` stays valid.
  result.dims = made->dims.data();
  made->operands.back().tensor = result;
  registers_.push_back(result);
  steps_.push_back(std::move(made));
  const Step& added = *steps_.back();
  if (plugin::element_bits(result.element_type) % 8 != 0) {
    return plugin::unimplemented(kind_of(op) + ": body step " + step.kind +
                                 " makes elements that share bytes");
  }
  return check_entry(*added.entry, added.op);
}

Status BodyProgram::read_registers(const sluice_body_step& from, Step& step) const {
  step.inputs.assign(from.inputs, from.inputs + from.num_inputs);
  for (const std::int32_t input : step.inputs) {
    if (input < -1 || input >= static_cast<std::int32_t>(registers_.size())) {
      return plugin::invalid_argument("reads register " + std::to_string(input) +
                                      " before it is written");
    }
    sluice_operand operand = {};
    if (input >= 0) operand.tensor = registers_[static_cast<std::size_t>(input)];
    Status status = broadcast_dims(step.dims, dims_of(operand.tensor), &step.dims);
    if (!status.is_ok()) return status;
    step.operands.push_back(operand);
  }
  return plugin::ok();
}

Status BodyProgram::run(std::span<const sluice_tensor> inputs, const sluice_tensor& output) const {
  // A copy, so that one program may run on several threads at a time.
  std::vector<sluice_tensor> registers = registers_;
  std::vector<std::unique_ptr<std::byte[]>> memory;
  std::ranges::copy(inputs, registers.begin());
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const std::size_t result = registers.size() - steps_.size() + i;
    const std::int64_t bytes = size_in_bytes(registers[result]);
    memory.push_back(std::make_unique<std::byte[]>(static_cast<std::size_t>(bytes)));
    registers[result].data = memory.back().get();
    if (Status status = run_step(*steps_[i], registers, registers[result]); !status.is_ok()) {
      return status;
    }
  }
  copy_broadcast(registers[result_], output);
  return plugin::ok();
}

Status BodyProgram::run_step(const Step& step, std::span<const sluice_tensor> registers,
                             const sluice_tensor& result) {
  std::vector<sluice_tensor> inputs;
  for (const std::int32_t input : step.inputs) {
    inputs.push_back(input < 0 ? sluice_tensor{} : registers[static_cast<std::size_t>(input)]);
  }
  std::int64_t* const no_actual_dims = nullptr;
  return step.entry->run(Call(step.op, inputs, {&result, 1}, {&no_actual_dims, 1}));
}

}  // namespace sluice::reference
