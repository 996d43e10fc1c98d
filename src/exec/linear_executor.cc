#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "exec/context_state.h"

namespace sluice::exec {
namespace {

constexpr std::size_t kMostRecordings = 64;

/// Facts of a tensor in memory, its elements included.
ops::OperandFacts read_facts(const ir::Type& type, const void* data) {
  const auto size = static_cast<std::size_t>(ir::storage_bytes(type).value_or(0));
  const ir::Constant contents = {type, Bytes(nullptr, {static_cast<const std::byte*>(data), size})};
  ops::OperandFacts facts = {type, std::nullopt, ir::float_values(contents)};
  if (const auto integers = ir::integer_values(contents)) {
    facts.values.emplace(integers->begin(), integers->end());
  }
  return facts;
}

void append_facts(const ops::OperandFacts& facts, RunKey& key) {
  if (facts.values) {
    for (const ir::Dim& value : *facts.values) key.push_back(value.value());
  }
  if (facts.float_values) {
    for (const double value : *facts.float_values)
      key.push_back(std::bit_cast<std::int64_t>(value));
  }
}

ir::Type type_of(const TensorView& view) {
  return ir::Type::tensor(view.element, ir::Shape(view.dims.begin(), view.dims.end()));
}

}  // namespace

Status LinearExecutor::run() {
  if (!state_.static_recording) return run_stages();
  SLUICE_TRY(run_stage(*state_.static_recording));
  return finish_outputs(*state_.static_recording);
}

Status LinearExecutor::begin() { return prepare_memory(*state_.static_recording); }

Status LinearExecutor::submit(std::size_t segment) {
  for (const Segment& part : state_.static_recording->segments) {
    if (part.index != segment) continue;
    backend::Stream& stream = state_.streams[model_.segments.group_index[segment]];
    return stream.submit(part.list, state_.bindings);
  }
  return ok_status();  // views only: nothing runs
}

Result<bool> LinearExecutor::poll(std::size_t segment) {
  backend::Stream& stream = state_.streams[model_.segments.group_index[segment]];
  const Status status = stream.wait(std::chrono::nanoseconds(0));
  if (status.is_ok()) return true;
  if (status.code() == Code::kDeadlineExceeded) return false;
  return status;
}

Status LinearExecutor::finish() {
  SLUICE_TRY(copy_outputs(*state_.static_recording->plan));
  return finish_outputs(*state_.static_recording);
}

Status LinearExecutor::run_stages() {
  RunKey key = input_key();
  const Recording* recording = nullptr;
  do {
    recording = SLUICE_TRY(find_or_record(key, recording));
    SLUICE_TRY(run_stage(*recording));
    SLUICE_TRY(extend_key(*recording, key));
  } while (recording->plan->stage.end < model_.main().order().size());
  return finish_outputs(*recording);
}

Status LinearExecutor::run_stage(const Recording& recording) {
  SLUICE_TRY(prepare_memory(recording));
  for (const Segment& segment : recording.segments) {
    backend::Stream& stream = state_.streams[model_.segments.group_index[segment.index]];
    SLUICE_TRY(stream.submit(segment.list, state_.bindings));
    SLUICE_TRY(stream.wait());
  }
  return copy_outputs(*recording.plan);
}

Status LinearExecutor::prepare_memory(const Recording& recording) {
  const plan::Placement& placement = recording.plan->placement;
  const plan::BindingNumbers numbers = plan::binding_numbers(model_.main());
  SLUICE_TRY(state_.arena.reserve(placement.layout.arena_bytes));
  state_.bindings[static_cast<std::size_t>(numbers.arena())] = state_.arena.data();
  for (const WrittenOutput& written : recording.outputs) {
    SLUICE_TRY(prepare_output(written.output, written.size_bytes));
  }
  for (const ir::OperandId id : placement.kept) {
    const std::int32_t binding = numbers.kept(id);
    AlignedBuffer& buffer = state_.kept[binding];
    SLUICE_TRY(buffer.reserve(*ir::storage_bytes(recording.plan->facts[id.index()].type)));
    state_.bindings[static_cast<std::size_t>(binding)] = buffer.data();
  }
  return ok_status();
}

Status LinearExecutor::prepare_output(std::size_t output, std::int64_t size_bytes) {
  BoundOutput& bound = state_.outputs[output];
  if (bound.bound != nullptr && is_aligned(bound.bound) && bound.capacity_bytes >= size_bytes) {
    bound.target = bound.bound;
  } else {
    SLUICE_TRY(bound.own.reserve(size_bytes));
    bound.target = bound.own.data();
  }
  state_.bindings[state_.inputs.size() + output] = bound.target;
  return ok_status();
}

Status LinearExecutor::copy_outputs(const StagePlan& plan) {
  for (const plan::OutputCopy& copy : plan.placement.copies) {
    SLUICE_TRY(prepare_output(copy.output, copy.size_bytes));
    std::memcpy(state_.outputs[copy.output].target, address_of(plan, copy.source),
                static_cast<std::size_t>(copy.size_bytes));
  }
  return ok_status();
}

Status LinearExecutor::finish_outputs(const Recording& last) {
  const ir::Subgraph& main = model_.main();
  for (std::size_t i = 0; i < state_.outputs.size(); ++i) {
    BoundOutput& output = state_.outputs[i];
    const ir::Type& type = last.plan->facts[main.outputs[i].index()].type;
    output.view.element = type.element();
    output.view.dims = *type.static_dims();
    const Stage& stage = last.plan->stage;
    for (std::size_t j = 0; j < last.actual_dims.size(); ++j) {
      if (last_operation(stage).outputs[j] == main.outputs[i]) {
        output.view.dims = last.actual_dims[j];
      }
    }
    output.view.size_bytes = *ir::storage_bytes(type_of(output.view));
    output.view.data = output.target;
    if (output.bound == nullptr || output.target == output.bound) continue;
    if (output.view.size_bytes > output.capacity_bytes) {
      return make_error(
          Code::kResourceExhausted, "output \"{}\" has {} bytes, the memory bound to it {}",
          model_.signature.outputs[i].name, output.view.size_bytes, output.capacity_bytes);
    }
    std::memcpy(output.bound, output.target, static_cast<std::size_t>(output.view.size_bytes));
    output.view.data = output.bound;
  }
  return ok_status();
}

RunKey LinearExecutor::input_key() const {
  RunKey key;
  for (std::size_t i = 0; i < state_.inputs.size(); ++i) {
    const TensorView& view = state_.inputs[i].view;
    key.push_back(static_cast<std::int64_t>(view.dims.size()));
    key.insert(key.end(), view.dims.begin(), view.dims.end());
    if (model_.is_shape_input[i]) append_facts(read_facts(type_of(view), view.data), key);
  }
  return key;
}

Result<const Recording*> LinearExecutor::find_or_record(const RunKey& key,
                                                        const Recording* previous) {
  const auto it = state_.recordings.find(key);
  if (it != state_.recordings.end()) return static_cast<const Recording*>(it->second.get());
  auto plan = model_.plans.find(key);
  if (plan == nullptr) {
    plan = SLUICE_TRY(plan_next(previous));
    model_.plans.insert(key, plan);
  }
  auto recording = SLUICE_TRY(record(model_, std::move(plan)));
  const bool is_first_stage = previous == nullptr;  // nobody in this run refers to the others
  if (is_first_stage && state_.recordings.size() >= kMostRecordings) state_.recordings.clear();
  const Recording* result = recording.get();
  state_.recordings.emplace(key, std::move(recording));
  return result;
}

Result<std::shared_ptr<const StagePlan>> LinearExecutor::plan_next(
    const Recording* previous) const {
  if (previous == nullptr) return make_stage_plan(model_, 0, SLUICE_TRY(first_facts()), {});
  return make_stage_plan(model_, previous->plan->stage.end, SLUICE_TRY(next_facts(*previous)),
                         previous->plan->placement.places);
}

Result<ops::SubgraphFacts> LinearExecutor::first_facts() const {
  ops::SubgraphFacts facts = model_.initial_facts;
  const ir::Subgraph& main = model_.main();
  for (std::size_t i = 0; i < main.inputs.size(); ++i) {
    const TensorView& view = state_.inputs[i].view;
    ops::OperandFacts& input = facts[main.inputs[i].index()];
    input = {type_of(view), std::nullopt, std::nullopt};
    if (model_.is_shape_input[i]) input = read_facts(type_of(view), view.data);
  }
  return facts;
}

Result<ops::SubgraphFacts> LinearExecutor::next_facts(const Recording& previous) const {
  const StagePlan& plan = *previous.plan;
  ops::SubgraphFacts facts = plan.facts;
  for (std::size_t i = 0; i < previous.actual_dims.size(); ++i) {
    const ir::OperandId id = last_operation(plan.stage).outputs[i];
    if (!id.is_valid()) continue;
    const auto& dims = previous.actual_dims[i];
    ir::Type& type = facts[id.index()].type;
    type = type.with_shape(ir::Shape(dims.begin(), dims.end()));
  }
  for (const ir::OperandId id : plan.stage.wanted_values) {
    facts[id.index()] = read_facts(facts[id.index()].type, address_of(plan, id));
    if (!facts[id.index()].values && !facts[id.index()].float_values) {
      return unimplemented("operand \"{}\" of type {} cannot give a shape",
                           model_.main().operand(id).name, facts[id.index()].type.to_string());
    }
  }
  return facts;
}

Status LinearExecutor::extend_key(const Recording& recording, RunKey& key) const {
  const StagePlan& plan = *recording.plan;
  if (plan.stage.end == model_.main().order().size()) return ok_status();
  const ops::SubgraphFacts facts = SLUICE_TRY(next_facts(recording));
  key.push_back(static_cast<std::int64_t>(plan.stage.end));
  for (const auto& dims : recording.actual_dims) key.insert(key.end(), dims.begin(), dims.end());
  for (const ir::OperandId id : plan.stage.wanted_values) append_facts(facts[id.index()], key);
  return ok_status();
}

const void* LinearExecutor::address_of(const StagePlan& plan, ir::OperandId id) const {
  const plan::Place& place = plan.placement.places[id.index()];
  if (place.kind == plan::Place::Kind::kConstant) {
    return model_.main().find_constant(place.operand)->data.data();
  }
  const auto* buffer =
      static_cast<const std::byte*>(state_.bindings[static_cast<std::size_t>(place.binding)]);
  return buffer + place.offset_bytes;
}

const ir::Operation& LinearExecutor::last_operation(const Stage& stage) const {
  return model_.main().operation(model_.main().order()[stage.end - 1]);
}

}  // namespace sluice::exec
