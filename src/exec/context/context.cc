#include <algorithm>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <utility>

#include "backend/memory.h"
#include "base/no_memory.h"
#include "base/system/processor.h"
#include "exec/context/device_ends.h"
#include "exec/context/frame.h"
#include "exec/context/frame_runner.h"
#include "exec/context/step.h"
#include "exec/states/kept_states.h"

namespace sluice::exec {
namespace {

bool shape_fits(const ir::Type& declared, const std::vector<std::int64_t>& dims) {
  // A type without a shape takes tensors of any rank.
  const ir::Shape* shape = declared.shape();
  if (shape == nullptr) return true;
  if (shape->size() != dims.size()) return false;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    // Symbols are not compared with each other here: the executor binds them when the run begins.
    if ((*shape)[i].is_known() && !(*shape)[i].is(dims[i])) return false;
  }
  return true;
}

}  // namespace

Status check_input(const terms::TensorSpec& spec, const terms::TensorView& tensor) {
  if (!spec.type.is_tensor()) {
    return invalid_argument("input \"{}\" is a {}, not a tensor", spec.name, spec.type.to_string());
  }
  if (spec.type.element() != tensor.element || !shape_fits(spec.type, tensor.dims)) {
    return invalid_argument("input \"{}\": got {}, model takes {}", spec.name,
                            type_of(tensor).to_string(), spec.type.to_string());
  }
  // Encoded strings are checked when they are decoded: their size depends on their content.
  const bool is_text = tensor.element == ir::ElementType::kString;
  const auto size = storage_bytes(tensor);
  if (!is_text && (!size || *size != tensor.size_bytes)) {
    return invalid_argument("input \"{}\": {} takes {} bytes, got {}", spec.name,
                            type_of(tensor).to_string(), size.value_or(-1), tensor.size_bytes);
  }
  if (tensor.data == nullptr && tensor.size_bytes > 0) {
    return invalid_argument("input \"{}\": its data is null", spec.name);
  }
  return ok_status();
}

namespace {

/// Whether a value is of the type that the model declares.
bool fits(const ir::Type& declared, const Value& value) {
  using Kind = ir::Type::Kind;
  if (declared.kind() == Kind::kOptional) return value.is_empty() || fits(declared.item(), value);
  const auto is_fit = [](const ir::Type& type, const terms::TensorView& view) {
    return type.kind() == Kind::kUnknown ||
           (type.element() == view.element && shape_fits(type, view.dims) &&
            (view.element == ir::ElementType::kString || storage_bytes(view) == view.size_bytes));
  };
  if (declared.is_tensor()) return value.tensor && is_fit(declared, value.tensor->view);
  if (value.sequence == nullptr) return false;
  for (const auto& item : value.sequence->items) {
    // Items of a sequence are read where they lie; there is no staging memory for them.
    if (!is_fit(declared.item(), item->view) || !backend::is_aligned(item->view.data)) return false;
  }
  return true;
}

std::span<const sluice_text> texts_of(const terms::TensorView& view) {
  return {static_cast<const sluice_text*>(view.data),
          static_cast<std::size_t>(view.size_bytes) / sizeof(sluice_text)};
}

/// One run: the caller's inputs to the main frame, its outputs to the caller.
class Run {
 public:
  explicit Run(ContextState& state)
      : state_(state), main_(state.frame(ir::SubgraphId(std::size_t{0}))) {}

  Status run() {
    SLUICE_TRY(take_inputs());
    SLUICE_TRY(FrameRunner(state_, main_).run());
    return take_outputs();
  }

  Status begin() {
    SLUICE_TRY(take_inputs());
    return executor().begin();
  }

  Status finish() {
    SLUICE_TRY(executor().finish());
    return take_outputs();
  }

  FrameRunner executor() { return FrameRunner(state_, main_); }

 private:
  Status take_inputs() {
    SLUICE_TRY(check_states_apart(state_));
    SLUICE_TRY(check_bound_memory(state_));
    // Strings of the last run end here: outputs of strings were encoded into memory of their own.
    state_.texts.reset();
    ++state_.run_number;
    if (state_.model->draws_random_numbers) {
      // Runs of all contexts count together, so that two contexts never draw the same numbers.
      std::tie(state_.random_seed, state_.random_run) = state_.model->options.random->next_run();
    }
    for (std::size_t i = 0; i < state_.inputs.size(); ++i) {
      SLUICE_TRY(pass_input(i));
    }
    for (std::size_t i = 0; i < state_.outputs.size(); ++i) {
      // Kernels make strings as sluice_text; the caller gets their encoded form at the end of the
      // run.
      const bool is_direct = output_spec(i).type.element() != ir::ElementType::kString;
      main_.outputs[i].bound = is_direct ? state_.outputs[i].bound : nullptr;
      main_.outputs[i].capacity_bytes = state_.outputs[i].capacity_bytes;
    }
    return ok_status();
  }

  Status take_outputs() {
    state_.held_constants.clear();
    for (std::size_t i = 0; i < state_.outputs.size(); ++i) SLUICE_TRY(take_output(i));
    return check_bound_apart();
  }

  /// Fails for two outputs in the same bytes: one would be lost. Sizes are known after the run.
  Status check_bound_apart() const {
    const std::vector<BoundOutput>& all = state_.outputs;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].bound == nullptr) continue;
      for (std::size_t j = 0; j < i; ++j) {
        if (all[j].bound == nullptr || !share_bytes(all[i].bound, all[i].view.size_bytes,
                                                    all[j].bound, all[j].view.size_bytes)) {
          continue;
        }
        return invalid_argument(
            "the memories bound to the outputs \"{}\" and \"{}\" overlap, so one of the two is "
            "lost",
            output_spec(j).name, output_spec(i).name);
      }
    }
    return ok_status();
  }

  const terms::TensorSpec& input_spec(std::size_t i) const {
    return state_.model->signature.inputs[i];
  }
  const terms::TensorSpec& output_spec(std::size_t i) const {
    return state_.model->signature.outputs[i];
  }

  Status pass_input(std::size_t index) {
    BoundInput& input = state_.inputs[index];
    if (!input.is_set) {
      return make_error(Code::kFailedPrecondition, "input \"{}\" of type {} was not set",
                        input_spec(index).name, input_spec(index).type.to_string());
    }
    if (!input_spec(index).type.is_tensor()) {
      return pass_value(main_, index, SLUICE_TRY(decode_strings(input.value)));
    }
    if (input.view.element == ir::ElementType::kString) return pass_strings(index);
    // Copied at each run, not when it was bound: the caller changes bound memory between runs.
    if (input.address != input.view.data && input.view.size_bytes > 0) {
      std::memcpy(input.staging.data(), input.view.data,
                  static_cast<std::size_t>(input.view.size_bytes));
      state_.copied_bytes += input.view.size_bytes;
    }
    // The view keeps the caller's memory for its type and size; kernels read at the address, which
    // is staging memory where the caller's is not aligned.
    main_.set_input(index, input.view);
    main_.move_input(index, const_cast<void*>(input.address));  // NOLINT: inputs are only read
    return ok_status();
  }

  Status pass_strings(std::size_t index) {
    BoundInput& input = state_.inputs[index];
    const auto* bytes = static_cast<const std::byte*>(input.view.data);
    const ir::Constant encoded = {
        type_of(input.view),
        Bytes(nullptr, {bytes, static_cast<std::size_t>(input.view.size_bytes)})};
    const auto texts = SLUICE_TRY(
        backend::decode_texts(encoded).with_context("input \"" + input_spec(index).name + "\""));
    terms::TensorView view = input.view;
    // Elements of 16 bytes that point into the caller's bytes, which therefore live until the run
    // has ended.
    view.size_bytes = static_cast<std::int64_t>(texts.size() * sizeof(sluice_text));
    SLUICE_TRY(input.staging.reserve(view.size_bytes));
    view.data = input.staging.data();
    if (!texts.empty()) {
      std::memcpy(view.data, texts.data(), static_cast<std::size_t>(view.size_bytes));
    }
    main_.set_input(index, view);
    return ok_status();
  }

  Status take_output(std::size_t index) {
    FrameOutput& from = main_.outputs[index];
    BoundOutput& to = state_.outputs[index];
    if (!output_spec(index).type.is_tensor()) {
      to.value = SLUICE_TRY(encode_strings(std::exchange(from.value, Value{})));
      return ok_status();
    }
    to.view = from.view;
    if (to.view.element == ir::ElementType::kString) SLUICE_TRY(encode(to, from.view));
    // The kernel wrote to the bound memory itself.
    if (to.bound == nullptr || to.view.data == to.bound) return ok_status();
    if (to.is_on_device) {
      return make_error(Code::kFailedPrecondition,
                        "the memory of a device bound to output \"{}\" overlaps an input",
                        output_spec(index).name);
    }
    if (to.view.size_bytes > to.capacity_bytes) {
      return make_error(Code::kResourceExhausted,
                        "output \"{}\" has {} bytes, the memory bound to it {}",
                        output_spec(index).name, to.view.size_bytes, to.capacity_bytes);
    }
    if (to.view.size_bytes > 0) {
      std::memcpy(to.bound, to.view.data, static_cast<std::size_t>(to.view.size_bytes));
    }
    state_.copied_bytes += to.view.size_bytes;
    to.view.data = to.bound;
    return ok_status();
  }

  static Status encode(BoundOutput& to, const terms::TensorView& from) {
    to.view.size_bytes = SLUICE_TRY(backend::encoded_bytes(texts_of(from)));
    SLUICE_TRY(to.encoded.reserve(to.view.size_bytes));
    to.view.data = to.encoded.data();
    backend::encode_texts(texts_of(from), {static_cast<std::byte*>(to.view.data),
                                           static_cast<std::size_t>(to.view.size_bytes)});
    return ok_status();
  }

  ContextState& state_;
  Frame& main_;
};

Status no_input(const ContextState& state, std::size_t index) {
  return invalid_argument("input {} does not exist; the model has {}", index, state.inputs.size());
}

Status take_input(ContextState& state, std::size_t index, const terms::TensorView& tensor) {
  SLUICE_TRY(check_input(state.model->signature.inputs[index], tensor));
  SLUICE_TRY(take_state(state, index, tensor));
  BoundInput& input = state.inputs[index];
  input.view = tensor;
  input.is_set = true;
  input.is_on_device = false;
  // The last binding wins, whichever form it has.
  input.value = {};
  input.address = tensor.data;
  // Kernels dereference elements, so an address has at least the alignment of one; a plug-in may
  // ask for more.
  const auto element_bytes = ir::storage_bytes(tensor.element, 1).value_or(1);
  if (!backend::is_aligned(tensor.data, std::max(state.model->input_alignment, element_bytes))) {
    SLUICE_TRY(input.staging.reserve(tensor.size_bytes));
    input.address = input.staging.data();
  }
  return ok_status();
}

}  // namespace

Context::Context(std::unique_ptr<ContextState> state) : state_(std::move(state)) {}
Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;
Context::~Context() = default;

Result<Context> LoadedModel::create_context(const std::stop_token& stop,
                                            std::string_view owner) const {
  auto memory =
      std::make_shared<ByteBudget>(state_->options.max_memory_bytes, MemoryScope::payer());
  auto state = std::make_unique<ContextState>(state_, std::move(memory));
  state->states = std::make_shared<KeptStates>();
  // Buffers that the thread allocates from here on are charged to this context.
  const MemoryScope scope(state->memory);
  for (device::StreamPool pool : state_->segments.streams) {
    state->streams.push_back(SLUICE_TRY(pool.take(owner)));
  }
  if (SLUICE_TRY(state_->segments.has_events())) {
    state->events.emplace(state_->segments.groups.front()->shared_backend(), state->streams.size());
  }
  state->inputs.resize(state_->signature.inputs.size());
  for (std::size_t i = 0; i < state->inputs.size(); ++i) {
    const auto value = terms::default_of(state_->signature.inputs[i]);
    // A default is an input like any other, bound from the beginning.
    if (value) SLUICE_TRY(take_input(*state, i, *value));
  }
  state->outputs.resize(state_->signature.outputs.size());
  state->frames.resize(state_->subgraphs.size());
  Frame& main = state->frame(ir::SubgraphId(std::size_t{0}));
  // Known shapes are recorded here, so that the first run is as fast as the others.
  if (main.code.static_plan) {
    auto lists = SLUICE_TRY(record_lists(*state_, main.code, main.code.static_plan, stop));
    main.static_recording = make_recording(main.code, main.code.static_plan, std::move(lists));
    // Here, so that a lack of memory fails the load and not the first run.
    SLUICE_TRY(main.arena.reserve(main.code.static_plan->placement->layout.arena_bytes));
  }
  return Context(std::move(state));
}

Status Context::set_input(std::size_t index, const terms::TensorView& tensor) {
  if (index >= state_->inputs.size()) return no_input(*state_, index);
  return take_input(*state_, index, tensor);
}

Status Context::reset_input(std::size_t index) {
  if (index >= state_->inputs.size()) return no_input(*state_, index);
  const terms::TensorSpec& spec = state_->model->signature.inputs[index];
  const auto value = terms::default_of(spec);
  if (!value) return invalid_argument("input \"{}\" has no default value", spec.name);
  return take_input(*state_, index, *value);
}

Status Context::set_input_value(std::size_t index, Value value) {
  if (index >= state_->inputs.size()) return no_input(*state_, index);
  const terms::TensorSpec& spec = state_->model->signature.inputs[index];
  if (!fits(spec.type, value)) {
    return invalid_argument("input \"{}\": got {}, model takes {}", spec.name, value.describe(),
                            spec.type.to_string());
  }
  if (spec.type.is_tensor()) SLUICE_TRY(set_input(index, value.tensor->view));
  state_->inputs[index].is_set = true;
  state_->inputs[index].value = std::move(value);
  return ok_status();
}

Status Context::bind_output(std::size_t index, void* data, std::int64_t capacity_bytes) {
  if (index >= state_->outputs.size()) {
    return invalid_argument("output {} does not exist; the model has {}", index,
                            state_->outputs.size());
  }
  const terms::TensorSpec& spec = state_->model->signature.outputs[index];
  if (!spec.type.is_tensor()) {
    return invalid_argument("output \"{}\" is a {}; memory is bound to tensors", spec.name,
                            spec.type.to_string());
  }
  const StatePair* const pair = state_->states->find_output(index);
  if (pair != nullptr && data != state_->outputs[index].bound) {
    SLUICE_TRY(end_state(*state_, *pair));
  }
  state_->outputs[index].bound = data;
  state_->outputs[index].is_on_device = false;
  state_->outputs[index].capacity_bytes = data == nullptr ? 0 : capacity_bytes;
  return ok_status();
}

Status Context::set_device_input(std::size_t index, const terms::TensorView& tensor,
                                 const DeviceName& device) {
  if (index >= state_->inputs.size()) return no_input(*state_, index);
  SLUICE_TRY(check_device_ends(*state_, device));
  SLUICE_TRY(check_device_memory(*state_, "input", state_->model->signature.inputs[index].name,
                                 tensor.data, tensor.size_bytes));
  SLUICE_TRY(take_input(*state_, index, tensor));
  state_->inputs[index].is_on_device = true;
  return ok_status();
}

Status Context::bind_device_output(std::size_t index, void* data, std::int64_t capacity_bytes,
                                   const DeviceName& device) {
  SLUICE_TRY(bind_output(index, nullptr, 0));
  if (data == nullptr) return ok_status();
  SLUICE_TRY(check_device_ends(*state_, device));
  const terms::TensorSpec& spec = state_->model->signature.outputs[index];
  if (const auto bytes = ir::run_bytes(spec.type); bytes && *bytes > capacity_bytes) {
    return make_error(Code::kResourceExhausted,
                      "output \"{}\" has {} bytes, the memory bound to it {}", spec.name, *bytes,
                      capacity_bytes);
  }
  SLUICE_TRY(check_device_memory(*state_, "output", spec.name, data, capacity_bytes));
  SLUICE_TRY(bind_output(index, data, capacity_bytes));
  state_->outputs[index].is_on_device = true;
  return ok_status();
}

void Context::set_checkpoint(Checkpoint checkpoint) { state_->checkpoint = std::move(checkpoint); }

void Context::set_trace(RunTrace* trace) { state_->trace = trace; }

Status Context::run() {
  // Kernels for the host run on this thread. The scopes that may fail end before this one.
  const StayOn on_asked_cores(state_->model->segments.cpus);
  const MemoryScope scope(state_->memory);
  // An allocation beyond the budget throws std::bad_alloc, which becomes an error of this run.
  return catch_no_memory([&] { return Run(*state_).run(); });
}

Status Context::begin() {
  const MemoryScope scope(state_->memory);
  return catch_no_memory([&] { return Run(*state_).begin(); });
}

Status Context::submit_segment(std::size_t segment) {
  return Run(*state_).executor().submit(segment);
}

Result<bool> Context::poll_segment(std::size_t segment) {
  return Run(*state_).executor().poll(segment);
}

Status Context::finish() {
  const MemoryScope scope(state_->memory);
  return catch_no_memory([&] { return Run(*state_).finish(); });
}

const terms::TensorView& Context::output(std::size_t index) const {
  return state_->outputs[index].view;
}

const Value& Context::output_value(std::size_t index) const { return state_->outputs[index].value; }

std::int64_t Context::copied_bytes() const { return state_->copied_bytes; }

std::int64_t Context::recorded_bytes() const { return state_->recordings.held_bytes(); }

std::int64_t Context::memory_bytes() const {
  std::int64_t total = 0;
  for (const auto& frame : state_->frames) total += frame ? frame->memory_bytes() : 0;
  for (const BoundInput& input : state_->inputs) total += input.staging.size_bytes();
  for (const BoundOutput& output : state_->outputs) total += output.encoded.size_bytes();
  return total;
}

}  // namespace sluice::exec
