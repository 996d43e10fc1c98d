#include "exec/context/step.h"

#include <cstring>

#include "exec/context/frame_runner.h"
#include "ops/control/structure.h"

namespace sluice::exec {
namespace {

using Kind = plan::Place::Kind;

ir::Constant as_constant(const terms::TensorView& view) {
  return {type_of(view), Bytes(nullptr, {static_cast<const std::byte*>(view.data),
                                         static_cast<std::size_t>(view.size_bytes)})};
}

}  // namespace

const void* tensor_address(const Frame& frame, const plan::Place& place) {
  if (place.kind == Kind::kConstant) return frame.code.constant_data(place.operand);
  if (place.kind == Kind::kNone) return nullptr;
  return static_cast<const std::byte*>(frame.binding(place.binding)) + place.offset_bytes;
}

// ---- inputs ----

Result<terms::TensorView> StepCall::tensor(std::size_t index) const {
  if (!has_input(index)) return error("input {} is missing", index);
  const ir::OperandId id = operation_.inputs[index];
  if (!is_tensor(index)) {
    const Value& value = frame_.values[id.index()];
    if (value.tensor) return value.tensor->view;
    return error("input {} must be a tensor, not {}", index, value.describe());
  }
  const ir::Type& type = plan_.facts.type_of(id);
  const auto dims = type.static_dims();
  const auto size = ir::run_bytes(type);
  const void* address = tensor_address(frame_, plan_.placement->places[id.index()]);
  if (!dims || !size || (address == nullptr && *size > 0)) {
    return internal_error("input {} of type {} has no memory", index, type.to_string());
  }
  return terms::TensorView{const_cast<void*>(address), *size, type.element(),
                           *dims};  // NOLINT: read only
}

Result<std::vector<std::int64_t>> StepCall::integers(std::size_t index) const {
  const terms::TensorView view = SLUICE_TRY(tensor(index));
  auto values = ir::integer_values(as_constant(view));
  if (values) return std::move(*values);
  return error("input {} must hold integers, not {}", index, type_of(view).to_string());
}

Result<std::int64_t> StepCall::integer(std::size_t index) const {
  const auto values = SLUICE_TRY(integers(index));
  if (values.size() == 1) return values.front();
  return error("input {} must have one element, not {}", index, values.size());
}

ops::OperandFacts StepCall::facts(std::size_t index) const {
  const auto view = tensor(index);
  if (view.is_ok()) return ops::facts_of({"", type_of(*view), as_constant(*view)});
  ops::OperandFacts unknown;
  if (has_input(index)) unknown.type = plan_.facts.type_of(operation_.inputs[index]);
  return unknown;
}

Result<Value> StepCall::value(std::size_t index) {
  if (!has_input(index)) return Value{};
  const ir::OperandId id = operation_.inputs[index];
  Value& held = frame_.values[id.index()];
  if (held.tensor && is_tensor(index)) return held;  // shared already: its address is bound
  if (is_tensor(index)) return Value{SLUICE_TRY(copy_tensor(SLUICE_TRY(tensor(index)))), nullptr};
  // Copies of a value share it, so a later reader keeps this step from changing the sequence in
  // place.
  if (frame_.code.last_use[id.index()] != position_) return held;
  return std::exchange(held, Value{});
}

Result<std::shared_ptr<Sequence>> StepCall::sequence(std::size_t index) {
  Value found = SLUICE_TRY(value(index));
  if (found.sequence) return std::move(found.sequence);
  return error("input {} must be a sequence, not {}", index, found.describe());
}

// ---- results ----

void StepCall::set_address(const plan::Place& place, void* data) {
  if (place.kind == Kind::kBinding) {
    frame_.bindings[static_cast<std::size_t>(place.binding)] = data;
  }
}

FrameOutput* StepCall::find_output(std::size_t index) const {
  const plan::Place& place = plan_.placement->places[operation_.outputs[index].index()];
  const plan::BindingNumbers& numbers = frame_.code.numbers;
  const bool is_output = place.kind == Kind::kBinding && place.binding >= numbers.output(0) &&
                         place.binding < numbers.arena();
  if (!is_output) return nullptr;
  return &frame_.outputs[static_cast<std::size_t>(place.binding - numbers.output(0))];
}

Status StepCall::give(std::size_t index, const terms::TensorView& tensor, AlignedBuffer& memory) {
  if (!has_output(index)) return ok_status();
  const ir::OperandId id = operation_.outputs[index];
  if (!frame_.code.is_tensor(id)) {
    return give(index, Value{SLUICE_TRY(copy_tensor(tensor)), nullptr});
  }
  frame_.step_types[index] = type_of(tensor);
  const plan::Place& place = plan_.placement->places[id.index()];
  if (place.kind == Kind::kNone) return ok_status();  // nobody reads it
  // Swaps buffers instead of copying. Only the caller's bound memory takes a copy: it cannot be
  // swapped.
  SLUICE_TRY(memory.reserve(tensor.size_bytes));  // a valid address even for zero elements
  FrameOutput* output = find_output(index);
  if (output == nullptr) {
    AlignedBuffer& kept = frame_.kept[place.binding];
    std::swap(kept, memory);
    set_address(place, kept.data());
    return ok_status();
  }
  const auto number = static_cast<std::size_t>(output - frame_.outputs.data());
  if (frame_.is_direct(number, tensor.size_bytes, {})) {
    if (tensor.size_bytes > 0) {
      std::memcpy(output->bound, memory.data(), static_cast<std::size_t>(tensor.size_bytes));
    }
    output->target = output->bound;
  } else {
    std::swap(output->own, memory);
    output->target = output->own.data();
  }
  set_address(place, output->target);
  return ok_status();
}

Status StepCall::give_copy(std::size_t index, const terms::TensorView& tensor) {
  if (!has_output(index)) return ok_status();
  AlignedBuffer copy;
  SLUICE_TRY(copy.reserve(tensor.size_bytes));
  if (tensor.size_bytes > 0) {
    std::memcpy(copy.data(), tensor.data, static_cast<std::size_t>(tensor.size_bytes));
  }
  return give(index, tensor, copy);
}

Status StepCall::give_integer(std::size_t index, ir::ElementType element, std::int64_t value) {
  const auto size = ir::storage_bytes(element, 1).value_or(0);
  return give_copy(index, {&value, size, element, {}});  // little-endian: the low bytes come first
}

Status StepCall::give(std::size_t index, Value value) {
  if (!has_output(index)) return ok_status();
  const ir::OperandId id = operation_.outputs[index];
  if (!frame_.code.is_tensor(id)) {
    frame_.values[id.index()] = std::move(value);
    return ok_status();
  }
  if (value.tensor == nullptr) {
    return error("output {} is a tensor in the graph and {} in this run", index, value.describe());
  }
  // An output must end in the frame's own or the caller's memory. Elsewhere the shared tensor is
  // read in place: `values` keeps it alive until the end of the run.
  if (find_output(index) != nullptr) return give_copy(index, value.tensor->view);
  frame_.step_types[index] = type_of(value.tensor->view);
  set_address(plan_.placement->places[id.index()], value.tensor->view.data);
  frame_.values[id.index()] = std::move(value);
  return ok_status();
}

Status StepCall::give_output(std::size_t index, Frame& callee, std::size_t from) {
  FrameOutput& output = callee.outputs[from];
  if (!callee.code.is_tensor(callee.code.subgraph->outputs[from])) {
    return give(index, std::exchange(output.value, Value{}));
  }
  // The callee's buffer can be taken over; a view of an input or constant cannot.
  if (output.view.data == output.own.data()) return give(index, output.view, output.own);
  return give_copy(index, output.view);
}

// ---- subgraphs ----

const ir::Graph& StepCall::graph() const { return context_.model->executable.graph; }

std::int64_t StepCall::max_loop_iterations() const {
  return context_.model->options.max_loop_iterations;
}

Frame& StepCall::callee(std::string_view name) {
  Frame& frame = context_.frame(*operation_.attributes.find<ir::SubgraphId>(name));
  ++frame.call_number;
  return frame;
}

Status pass_value(Frame& callee, std::size_t to, Value value) {
  const ir::OperandId id = callee.code.subgraph->inputs[to];
  callee.values.resize(callee.code.subgraph->num_operands());
  if (callee.code.is_tensor(id)) {
    if (value.tensor == nullptr) {
      return invalid_argument("subgraph \"{}\" takes a tensor as input {}, not {}",
                              callee.code.subgraph->name, to, value.describe());
    }
    callee.set_input(to, value.tensor->view);
  }
  callee.values[id.index()] = std::move(value);
  return ok_status();
}

Status pass_tensor(Frame& callee, std::size_t to, const terms::TensorView& tensor) {
  if (!callee.code.is_tensor(callee.code.subgraph->inputs[to])) {
    return pass_value(callee, to, Value{SLUICE_TRY(copy_tensor(tensor)), nullptr});
  }
  callee.set_input(to, tensor);
  return ok_status();
}

Status StepCall::pass(std::size_t index, Frame& callee, std::size_t to) {
  if (is_tensor(index)) return pass_tensor(callee, to, SLUICE_TRY(tensor(index)));
  if (!has_input(index)) return pass_value(callee, to, Value{});
  return pass_value(callee, to, frame_.values[operation_.inputs[index].index()]);
}

Status StepCall::pass_captures(Frame& callee) {
  const std::size_t own = ops::num_own_inputs(operation_);
  const std::size_t count = operation_.inputs.size() - own;
  const std::size_t first = callee.inputs.size() - count;
  for (std::size_t i = 0; i < count; ++i) SLUICE_TRY(pass(own + i, callee, first + i));
  return ok_status();
}

std::vector<ir::Type> StepCall::types_without_run(const Frame& callee,
                                                  std::vector<ops::OperandFacts> own) const {
  for (std::size_t i = ops::num_own_inputs(operation_); i < operation_.inputs.size(); ++i) {
    own.push_back(facts(i));
  }
  return infer_without_run(graph(), callee.code.id, own);
}

Status StepCall::run(Frame& callee) { return FrameRunner(context_, callee).run(); }

Status run_step(StepCall& call) {
  using Run = Status (*)(StepCall&);
  static const std::map<std::string_view, Run> kSteps = {
      {"ConcatFromSequence", run_concat_from_sequence},
      {"Identity", run_identity},
      {"If", run_if},
      {"Loop", run_loop},
      {"Optional", run_optional},
      {"OptionalGetElement", run_optional_get_element},
      {"OptionalHasElement", run_optional_has_element},
      {"Scan", run_scan},
      {"SequenceAt", run_sequence_at},
      {"SequenceConstruct", run_sequence_construct},
      {"SequenceEmpty", run_sequence_empty},
      {"SequenceErase", run_sequence_erase},
      {"SequenceInsert", run_sequence_insert},
      {"SequenceLength", run_sequence_length},
      {"SequenceMap", run_sequence_map},
      {"SplitToSequence", run_split_to_sequence},
  };
  const auto found = kSteps.find(call.operation().kind);
  if (!call.operation().domain.empty() || found == kSteps.end()) {
    return unimplemented("no step of the executor");
  }
  return found->second(call);
}

}  // namespace sluice::exec
