#include "exec/linear_executor.h"

#include <bit>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <utility>

#include "exec/step.h"

namespace sluice::exec {
namespace {

/// Of a subgraph, beside those that one run may need.
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

}  // namespace

Status LinearExecutor::run() {
  const bool is_static = program_.static_plan != nullptr && fits_static_plan();
  Status status = is_static ? run_static() : run_stages();
  for (Value& value : frame_.values) value = {};  // what is not handed on ends with the run
  return status;
}

Status LinearExecutor::begin() { return prepare_memory(*frame_.static_recording); }

Status LinearExecutor::submit(std::size_t segment) {
  for (const Segment& part : frame_.static_recording->segments) {
    if (part.index == segment)
      return context_.streams[part.group].submit(part.list, frame_.bindings);
  }
  return ok_status();  // views only: nothing runs
}

Result<bool> LinearExecutor::poll(std::size_t segment) {
  backend::Stream& stream = context_.streams[model_.segments.group_index[segment]];
  const Status status = stream.wait(std::chrono::nanoseconds(0));
  if (status.is_ok()) return true;
  if (status.code() == Code::kDeadlineExceeded) return false;
  return status;
}

Status LinearExecutor::finish() {
  SLUICE_TRY(copy_outputs(*frame_.static_recording));
  finish_outputs(*frame_.static_recording);
  return ok_status();
}

bool LinearExecutor::fits_static_plan() const {
  for (std::size_t i = 0; i < frame_.inputs.size(); ++i) {
    const ir::Type& declared = program_.subgraph->operand(program_.subgraph->inputs[i]).type;
    const TensorView& given = frame_.inputs[i];
    if (given.element != declared.element() || given.dims != program_.static_dims[i]) return false;
  }
  return true;
}

Status LinearExecutor::run_static() {
  if (frame_.static_recording == nullptr) {
    frame_.static_recording = SLUICE_TRY(record(model_, program_, program_.static_plan));
  }
  SLUICE_TRY(run_stage(*frame_.static_recording));
  finish_outputs(*frame_.static_recording);
  return ok_status();
}

Status LinearExecutor::run_stages() {
  const std::size_t num_operands = program_.subgraph->num_operands();
  frame_.values.resize(num_operands);
  frame_.bindings.resize(static_cast<std::size_t>(program_.numbers.texts()) + 1 + num_operands);
  RunKey key = input_key();
  // Here nobody refers to recordings of earlier runs. A run has no more stages than steps.
  if (frame_.recordings.size() >= kMostRecordings + program_.subgraph->order().size()) {
    frame_.recordings.clear();
  }
  const Recording* recording = nullptr;
  do {
    recording = SLUICE_TRY(find_or_record(key, recording));
    SLUICE_TRY(run_stage(*recording));
    SLUICE_TRY(extend_key(*recording, key));
  } while (recording->plan->stage.end < program_.subgraph->order().size());
  finish_outputs(*recording);
  return ok_status();
}

Status LinearExecutor::run_stage(const Recording& recording) {
  SLUICE_TRY(prepare_memory(recording));
  for (const Segment& segment : recording.segments) {
    backend::Stream& stream = context_.streams[segment.group];
    SLUICE_TRY(stream.submit(segment.list, frame_.bindings));
    SLUICE_TRY(stream.wait());
  }
  if (recording.plan->stage.has_executor_end) SLUICE_TRY(run_executor_step(recording));
  return copy_outputs(recording);
}

Status LinearExecutor::run_executor_step(const Recording& recording) {
  const std::size_t place = recording.plan->stage.end - 1;
  const ir::Operation& operation = program_.operation_at(place);
  frame_.step_types.assign(operation.outputs.size(), ir::Type());
  StepCall call(context_, frame_, *recording.plan, place);
  SLUICE_TRY(run_step(call).with_context(operation.describe()));
  for (std::size_t i = 0; i < operation.outputs.size(); ++i) {
    const ir::OperandId id = operation.outputs[i];
    if (!id.is_valid() || !program_.is_tensor(id) || frame_.step_types[i].is_tensor()) continue;
    return internal_error("{}: output {} was not given", operation.describe(), i);
  }
  return ok_status();
}

Status LinearExecutor::prepare_memory(const Recording& recording) {
  const plan::Placement& placement = recording.plan->placement;
  SLUICE_TRY(frame_.arena.reserve(placement.layout.arena_bytes));
  frame_.bindings[static_cast<std::size_t>(program_.numbers.arena())] = frame_.arena.data();
  for (const WrittenOutput& written : recording.outputs) {
    SLUICE_TRY(prepare_output(written.output, written.size_bytes));
  }
  for (const ir::OperandId id : placement.kept) {
    const std::int32_t binding = program_.numbers.kept(id);
    AlignedBuffer& buffer = frame_.kept[binding];
    SLUICE_TRY(buffer.reserve(*ir::run_bytes(recording.plan->facts[id.index()].type)));
    frame_.bindings[static_cast<std::size_t>(binding)] = buffer.data();
  }
  return ok_status();
}

Status LinearExecutor::prepare_output(std::size_t output, std::int64_t size_bytes) {
  FrameOutput& to = frame_.outputs[output];
  if (to.bound != nullptr && is_aligned(to.bound) && to.capacity_bytes >= size_bytes) {
    to.target = to.bound;
  } else {
    SLUICE_TRY(to.own.reserve(size_bytes));
    to.target = to.own.data();
  }
  frame_.bindings[frame_.inputs.size() + output] = to.target;
  return ok_status();
}

Status LinearExecutor::copy_outputs(const Recording& recording) {
  for (const plan::OutputCopy& copy : recording.plan->placement.copies) {
    if (frame_.outputs[copy.output].is_skipped) continue;
    const auto size = ir::run_bytes(actual_type(recording, copy.source));
    if (!size) return internal_error("output {} has no size", copy.output);
    SLUICE_TRY(prepare_output(copy.output, *size));
    if (*size == 0) continue;
    std::memcpy(frame_.outputs[copy.output].target, address_of(*recording.plan, copy.source),
                static_cast<std::size_t>(*size));
  }
  return ok_status();
}

void LinearExecutor::finish_outputs(const Recording& last) {
  const ir::Subgraph& subgraph = *program_.subgraph;
  for (std::size_t i = 0; i < frame_.outputs.size(); ++i) {
    FrameOutput& output = frame_.outputs[i];
    const ir::OperandId id = subgraph.outputs[i];
    if (!program_.is_tensor(id)) {
      output.value = frame_.values[id.index()];
      continue;
    }
    if (output.is_skipped) continue;
    const ir::Type type = actual_type(last, id);
    output.view = {output.target, *ir::run_bytes(type), type.element(), *type.static_dims()};
  }
}

ir::Type LinearExecutor::actual_type(const Recording& recording, ir::OperandId id) const {
  const StagePlan& plan = *recording.plan;
  const ir::Type& planned = plan.facts[id.index()].type;
  if (!plan.stage.has_executor_end && recording.actual_dims.empty()) return planned;
  const ir::Operation& last = program_.operation_at(plan.stage.end - 1);
  for (std::size_t i = 0; i < last.outputs.size(); ++i) {
    if (last.outputs[i] != id) continue;
    if (plan.stage.has_executor_end) return frame_.step_types[i];
    const auto& dims = recording.actual_dims[i];
    return planned.with_shape(ir::Shape(dims.begin(), dims.end()));
  }
  return planned;
}

RunKey LinearExecutor::input_key() const {
  RunKey key;
  for (std::size_t i = 0; i < frame_.inputs.size(); ++i) {
    if (!program_.is_tensor(program_.subgraph->inputs[i])) continue;
    const TensorView& view = frame_.inputs[i];
    key.push_back(static_cast<std::int64_t>(view.element));
    key.push_back(static_cast<std::int64_t>(view.dims.size()));
    key.insert(key.end(), view.dims.begin(), view.dims.end());
    if (program_.is_shape_input[i]) append_facts(read_facts(type_of(view), view.data), key);
  }
  return key;
}

Result<const Recording*> LinearExecutor::find_or_record(const RunKey& key,
                                                        const Recording* previous) {
  const auto it = frame_.recordings.find(key);
  if (it != frame_.recordings.end()) return static_cast<const Recording*>(it->second.get());
  auto plan = program_.plans.find(key);
  if (plan == nullptr) {
    plan = SLUICE_TRY(plan_next(previous));
    program_.plans.insert(key, plan);
  }
  auto recording = SLUICE_TRY(record(model_, program_, std::move(plan)));
  const Recording* result = recording.get();
  frame_.recordings.emplace(key, std::move(recording));
  return result;
}

Result<std::shared_ptr<const StagePlan>> LinearExecutor::plan_next(
    const Recording* previous) const {
  if (previous == nullptr) return make_stage_plan(model_, program_, 0, first_facts(), {});
  return make_stage_plan(model_, program_, previous->plan->stage.end,
                         SLUICE_TRY(next_facts(*previous)), previous->plan->placement.places);
}

ops::SubgraphFacts LinearExecutor::first_facts() const {
  ops::SubgraphFacts facts = program_.initial_facts;
  const ir::Subgraph& subgraph = *program_.subgraph;
  for (std::size_t i = 0; i < subgraph.inputs.size(); ++i) {
    ops::OperandFacts& input = facts[subgraph.inputs[i].index()];
    if (!program_.is_tensor(subgraph.inputs[i])) {
      input = {subgraph.operand(subgraph.inputs[i]).type, std::nullopt, std::nullopt};
      continue;
    }
    const TensorView& view = frame_.inputs[i];
    input = {type_of(view), std::nullopt, std::nullopt};
    if (program_.is_shape_input[i]) input = read_facts(type_of(view), view.data);
  }
  return facts;
}

Result<ops::SubgraphFacts> LinearExecutor::next_facts(const Recording& previous) const {
  const StagePlan& plan = *previous.plan;
  ops::SubgraphFacts facts = plan.facts;
  for (const ir::OperandId id : program_.operation_at(plan.stage.end - 1).outputs) {
    if (!id.is_valid() || !program_.is_tensor(id)) continue;
    facts[id.index()].type = actual_type(previous, id);
  }
  for (const ir::OperandId id : plan.stage.wanted_values) {
    facts[id.index()] = read_facts(facts[id.index()].type, address_of(plan, id));
    if (!facts[id.index()].values && !facts[id.index()].float_values) {
      return unimplemented("operand \"{}\" of type {} cannot give a shape",
                           program_.subgraph->operand(id).name, facts[id.index()].type.to_string());
    }
  }
  return facts;
}

Status LinearExecutor::extend_key(const Recording& recording, RunKey& key) const {
  const StagePlan& plan = *recording.plan;
  if (plan.stage.end == program_.subgraph->order().size()) return ok_status();
  const ops::SubgraphFacts facts = SLUICE_TRY(next_facts(recording));
  key.push_back(static_cast<std::int64_t>(plan.stage.end));
  for (const auto& dims : recording.actual_dims) key.insert(key.end(), dims.begin(), dims.end());
  if (plan.stage.has_executor_end) {
    for (const ir::Type& type : frame_.step_types) {
      if (!type.is_tensor()) continue;
      const auto dims = *type.static_dims();
      key.push_back(static_cast<std::int64_t>(type.element()));
      key.push_back(static_cast<std::int64_t>(dims.size()));
      key.insert(key.end(), dims.begin(), dims.end());
    }
  }
  for (const ir::OperandId id : plan.stage.wanted_values) append_facts(facts[id.index()], key);
  return ok_status();
}

const void* LinearExecutor::address_of(const StagePlan& plan, ir::OperandId id) const {
  return tensor_address(frame_, plan.placement.places[id.index()]);
}

}  // namespace sluice::exec
