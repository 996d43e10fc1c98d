// Kept states of a context, and what becomes of them when its caller binds memory.
#include <algorithm>
#include <vector>

#include "backend/memory.h"
#include "base/no_memory.h"
#include "exec/context/frame_runner.h"
#include "exec/states/kept_states.h"

namespace sluice::exec {
namespace {

/// Lists of the main subgraph are recorded anew when they are needed next. Constants stay on their
/// devices meanwhile.
void forget_lists(ContextState& state) {
  if (!state.model->segments.needs_copies()) return;  // no list depends on states
  const auto hold = [&](const RecordedLists& lists) {
    state.held_constants.insert(state.held_constants.end(), lists.constants.begin(),
                                lists.constants.end());
  };
  Frame& main = state.frame(ir::SubgraphId(std::size_t{0}));
  if (main.static_recording != nullptr) hold(*main.static_recording->lists);
  main.static_recording = nullptr;
  for (const auto& [placement, known] : state.lists) {
    if (const auto lists = known.lock()) hold(*lists);
  }
  const std::int64_t number = main.code.id.value();
  state.recordings.erase_if([&](const RunKey& key) { return key.front() == number; });
}

/// An input and an output in one memory, which kernels read and write where it lies.
bool is_state(const BoundInput& from, const BoundOutput& to) {
  return to.bound != nullptr && from.is_set && from.view.data == to.bound &&
         from.address == to.bound && from.view.size_bytes <= to.capacity_bytes &&
         backend::is_aligned(to.bound);
}

Status share_error(const ContextState& state, std::string_view kind, const std::string& name,
                   StatePair pair) {
  return invalid_argument(
      "{} \"{}\" shares memory with the state \"{}\", whose value may lie on a device; bind it "
      "elsewhere",
      kind, name, state.model->signature.inputs[pair.input].name);
}

Status add_state(ContextState& state, StatePair pair) {
  const terms::Signature& signature = state.model->signature;
  if (pair.input >= signature.inputs.size()) {
    return invalid_argument("input {} does not exist; the model has {}", pair.input,
                            signature.inputs.size());
  }
  if (pair.output >= signature.outputs.size()) {
    return invalid_argument("output {} does not exist; the model has {}", pair.output,
                            signature.outputs.size());
  }
  const std::string& input = signature.inputs[pair.input].name;
  const std::string& output = signature.outputs[pair.output].name;
  if (!is_state(state.inputs[pair.input], state.outputs[pair.output])) {
    return invalid_argument(
        "input \"{}\" and output \"{}\" are no state: bind both to one memory, aligned to {} "
        "bytes, first",
        input, output, backend::kAlignment);
  }
  const StatePair* const known = state.states->find_input(pair.input);
  if (known != nullptr && *known == pair) return ok_status();
  if (known != nullptr || state.states->find_output(pair.output) != nullptr) {
    return invalid_argument("input \"{}\" or output \"{}\" is part of another state", input,
                            output);
  }
  forget_lists(state);  // before others are recorded: on a device there may be room for one alone
  state.states->add(pair);
  // The output is the value, before the first run too.
  state.outputs[pair.output].view = state.inputs[pair.input].view;
  return ok_status();
}

/// Where shapes are known, a lack of memory fails the call and not the first run.
Status record_static(ContextState& state) {
  if (state.model->main().static_plan == nullptr) return ok_status();
  const MemoryScope scope(state.memory);
  return catch_no_memory([&] {
    return FrameRunner(state, state.frame(ir::SubgraphId(std::size_t{0}))).record_static();
  });
}

}  // namespace

Status take_state(ContextState& state, std::size_t input, const terms::TensorView& tensor) {
  const StatePair* const pair = state.states->find_input(input);
  if (pair == nullptr) return ok_status();
  const BoundOutput& output = state.outputs[pair->output];
  if (tensor.data != output.bound || tensor.size_bytes > output.capacity_bytes) {
    return end_state(state, *pair);
  }
  state.states->set_changed(input);
  state.outputs[pair->output].view = tensor;
  return ok_status();
}

Status end_state(ContextState& state, StatePair pair) {
  Status brought = state.states->bring(pair.input, state.streams, state.outputs[pair.output].bound);
  state.states->remove(pair.input);
  forget_lists(state);
  return brought;
}

Status check_states_apart(const ContextState& state) {
  for (const StatePair& pair : state.states->pairs()) {
    const terms::TensorView& own = state.inputs[pair.input].view;
    for (std::size_t i = 0; i < state.inputs.size(); ++i) {
      const terms::TensorView& other = state.inputs[i].view;
      if (i == pair.input || !state.inputs[i].is_set) continue;
      if (!share_bytes(own.data, own.size_bytes, other.data, other.size_bytes)) continue;
      return share_error(state, "input", state.model->signature.inputs[i].name, pair);
    }
    for (std::size_t i = 0; i < state.outputs.size(); ++i) {
      const BoundOutput& other = state.outputs[i];
      if (i == pair.output || other.bound == nullptr) continue;
      if (!share_bytes(own.data, own.size_bytes, other.bound, other.capacity_bytes)) continue;
      return share_error(state, "output", state.model->signature.outputs[i].name, pair);
    }
  }
  return ok_status();
}

Status Context::keep_states(std::span<const StatePair> pairs) {
  const std::vector<StatePair> before = state_->states->pairs();
  Status status = ok_status();
  for (const StatePair& pair : pairs) {
    if (status.is_ok()) status = add_state(*state_, pair);
  }
  if (status.is_ok() && state_->states->pairs() != before) status = record_static(*state_);
  if (status.is_ok()) return status;
  for (const StatePair& pair : state_->states->pairs()) {
    if (std::ranges::find(before, pair) == before.end()) state_->states->remove(pair.input);
  }
  return status;
}

Status Context::bring_output(std::size_t index) {
  const StatePair* const pair = state_->states->find_output(index);
  if (pair == nullptr) return ok_status();
  return state_->states->bring(pair->input, state_->streams, state_->outputs[index].bound);
}

std::int64_t Context::kept_bytes() const { return state_->states->device_bytes(); }

}  // namespace sluice::exec
