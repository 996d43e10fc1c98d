#include <cstdint>
#include <cstring>
#include <utility>

#include "exec/context_state.h"

namespace sluice::exec {
namespace {

ir::Shape shape_of(const std::vector<std::int64_t>& dims) {
  return ir::Shape(dims.begin(), dims.end());
}

bool shape_fits(const ir::Type& declared, const std::vector<std::int64_t>& dims) {
  const ir::Shape* shape = declared.shape();
  if (shape == nullptr) return true;
  if (shape->size() != dims.size()) return false;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if ((*shape)[i].is_known() && !(*shape)[i].is(dims[i])) return false;
  }
  return true;
}

}  // namespace

Status check_input(const package::TensorSpec& spec, const TensorView& tensor) {
  const ir::Type given = ir::Type::tensor(tensor.element, shape_of(tensor.dims));
  if (!spec.type.is_tensor()) {
    return unimplemented("input \"{}\" is a {}; only tensors can be set", spec.name,
                         spec.type.to_string());
  }
  if (spec.type.element() != tensor.element || !shape_fits(spec.type, tensor.dims)) {
    return invalid_argument("input \"{}\": got {}, model takes {}", spec.name, given.to_string(),
                            spec.type.to_string());
  }
  const bool is_text = tensor.element == ir::ElementType::kString;
  const auto size = ir::storage_bytes(given);
  if (!is_text && (!size || *size != tensor.size_bytes)) {
    return invalid_argument("input \"{}\": {} takes {} bytes, got {}", spec.name, given.to_string(),
                            size.value_or(-1), tensor.size_bytes);
  }
  if (tensor.data == nullptr && tensor.size_bytes > 0) {
    return invalid_argument("input \"{}\": its data is null", spec.name);
  }
  return ok_status();
}

Context::Context(std::unique_ptr<ContextState> state) : state_(std::move(state)) {}
Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;
Context::~Context() = default;

Result<Context> LoadedModel::create_context() const {
  auto state = std::make_unique<ContextState>();
  state->model = state_;
  for (const auto& group : state_->segments.groups) {
    state->streams.push_back(SLUICE_TRY(backend::Stream::create(group)));
  }
  const ir::Subgraph& main = state_->main();
  const plan::BindingNumbers numbers = plan::binding_numbers(main);
  state->inputs.resize(main.inputs.size());
  state->outputs.resize(main.outputs.size());
  state->bindings.resize(static_cast<std::size_t>(numbers.arena()) + 1);
  if (state_->static_plan) {
    state->static_recording = SLUICE_TRY(record(*state_, state_->static_plan));
  } else {
    state->bindings.resize(state->bindings.size() + main.num_operands());
  }
  return Context(std::move(state));
}

Status Context::set_input(std::size_t index, const TensorView& tensor) {
  const auto& specs = state_->model->signature.inputs;
  if (index >= specs.size()) {
    return invalid_argument("input {} does not exist; the model has {}", index, specs.size());
  }
  SLUICE_TRY(check_input(specs[index], tensor));
  BoundInput& input = state_->inputs[index];
  input.view = tensor;
  input.is_set = true;
  input.address = tensor.data;
  if (!is_aligned(tensor.data)) {
    SLUICE_TRY(input.staging.reserve(tensor.size_bytes));
    input.address = input.staging.data();
  }
  return ok_status();
}

Status Context::bind_output(std::size_t index, void* data, std::int64_t capacity_bytes) {
  if (index >= state_->outputs.size()) {
    return invalid_argument("output {} does not exist; the model has {}", index,
                            state_->outputs.size());
  }
  state_->outputs[index].bound = data;
  state_->outputs[index].capacity_bytes = data == nullptr ? 0 : capacity_bytes;
  return ok_status();
}

namespace {

Status take_inputs(ContextState& state) {
  for (std::size_t i = 0; i < state.inputs.size(); ++i) {
    BoundInput& input = state.inputs[i];
    if (!input.is_set) {
      const package::TensorSpec& spec = state.model->signature.inputs[i];
      return make_error(Code::kFailedPrecondition, "input \"{}\" of type {} was not set", spec.name,
                        spec.type.to_string());
    }
    if (input.address != input.view.data) {
      std::memcpy(input.staging.data(), input.view.data,
                  static_cast<std::size_t>(input.view.size_bytes));
    }
    state.bindings[i] = const_cast<void*>(input.address);  // NOLINT: inputs are only read
  }
  return ok_status();
}

}  // namespace

Status Context::run() {
  SLUICE_TRY(take_inputs(*state_));
  return LinearExecutor(*state_).run();
}

Status Context::begin() {
  SLUICE_TRY(take_inputs(*state_));
  return LinearExecutor(*state_).begin();
}

Status Context::submit_segment(std::size_t segment) {
  return LinearExecutor(*state_).submit(segment);
}

Result<bool> Context::poll_segment(std::size_t segment) {
  return LinearExecutor(*state_).poll(segment);
}

Status Context::finish() { return LinearExecutor(*state_).finish(); }

const TensorView& Context::output(std::size_t index) const { return state_->outputs[index].view; }

std::int64_t Context::memory_bytes() const {
  std::int64_t total = state_->arena.size_bytes();
  for (const BoundInput& input : state_->inputs) total += input.staging.size_bytes();
  for (const BoundOutput& output : state_->outputs) total += output.own.size_bytes();
  for (const auto& [binding, buffer] : state_->kept) total += buffer.size_bytes();
  return total;
}

}  // namespace sluice::exec
