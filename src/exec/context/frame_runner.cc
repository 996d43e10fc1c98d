#include "exec/context/frame_runner.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "exec/context/step.h"
#include "exec/states/kept_states.h"
#include "ir/source.h"

namespace sluice::exec {
namespace {

/// A buffer that grows gets a quarter more if there is memory for it: that of a longer past would
/// otherwise be new in every run, and its pages cost more than the computation.
Status reserve_with_room(AlignedBuffer& buffer, std::int64_t size_bytes) {
  const bool grows = buffer.size_bytes() > 0 && size_bytes > buffer.size_bytes();
  if (grows && buffer.reserve(size_bytes + size_bytes / 4).is_ok()) return ok_status();
  return buffer.reserve(size_bytes);
}

std::string text_of(const std::vector<std::int64_t>& dims) {
  return ir::shape_to_string(ir::Shape(dims.begin(), dims.end()));
}

}  // namespace

Status FrameRunner::run() {
  number_run();
  const bool is_static = code_.static_plan != nullptr && fits_static_plan();
  Status status = is_static ? run_static() : run_ranges();
  for (Value& value : frame_.values) value = {};  // values not passed on end with the run
  return with_source(std::move(status));
}

Status FrameRunner::with_source(Status status) const {
  return ir::with_source(model_.executable.graph, *code_.subgraph, std::move(status));
}

Status FrameRunner::begin() {
  number_run();
  SLUICE_TRY(record_static());
  SLUICE_TRY(prepare_memory(*frame_.static_recording));
  return settle_states(*frame_.static_recording);
}

KeptStates* FrameRunner::states() const {
  return code_.id.index() == 0 ? context_.states.get() : nullptr;
}

Status FrameRunner::record_static() {
  if (frame_.static_recording != nullptr) return ok_status();
  auto lists = SLUICE_TRY(record_lists(model_, code_, code_.static_plan, {}, states()));
  frame_.static_recording = make_recording(code_, code_.static_plan, std::move(lists));
  return ok_status();
}

/// Before the lists run: their kernels find each state where it lay when they were recorded.
Status FrameRunner::settle_states(const Recording& recording) {
  if (states() == nullptr || states()->is_empty()) return ok_status();
  context_.copied_bytes +=
      SLUICE_TRY(states()->settle(recording.lists->states, context_.streams, frame_.bindings));
  return ok_status();
}

/// Steps of the executor run one after another, so the numbers depend on no schedule.
void FrameRunner::number_run() {
  const bool is_first = frame_.context_run != context_.run_number;
  const std::uint64_t iteration = is_first ? 0 : frame_.random.iteration + 1;
  frame_.random = {context_.random_seed, context_.random_run, iteration};
  frame_.context_run = context_.run_number;
}

/// A task starts when the one before has ended, but for the last, which the caller polls: tasks of
/// a segment share memory but no order of their streams.
Status FrameRunner::submit(std::size_t segment) {
  const TaskList* running = nullptr;  // none if there are views only
  for (const TaskList& task : frame_.static_recording->lists->tasks) {
    if (task.segment != segment) continue;
    if (running != nullptr) {
      SLUICE_TRY(with_source(context_.streams[running->group]->wait()));
    }
    SLUICE_TRY(
        submit_watched(task, context_.streams[task.group], frame_.bindings, &context_.checkpoint));
    running = &task;
  }
  return ok_status();
}

Result<bool> FrameRunner::poll(std::size_t segment) {
  for (const TaskList& task : frame_.static_recording->lists->tasks) {
    if (task.segment != segment) continue;
    const Status status = context_.streams[task.group]->wait(std::chrono::nanoseconds(0));
    if (status.code() == Code::kDeadlineExceeded) return false;
    SLUICE_TRY(with_source(status));
  }
  return true;
}

Status FrameRunner::finish() {
  SLUICE_TRY(end_range(*frame_.static_recording));
  context_.copied_bytes += frame_.static_recording->lists->copied_bytes;
  finish_outputs(*frame_.static_recording);
  return ok_status();
}

bool FrameRunner::fits_static_plan() const {
  for (std::size_t i = 0; i < frame_.inputs.size(); ++i) {
    const ir::Type& declared = code_.subgraph->operand(code_.subgraph->inputs[i]).type;
    const terms::TensorView& given = frame_.inputs[i];
    if (given.element != declared.element() || given.dims != code_.static_dims[i]) return false;
  }
  return true;
}

Status FrameRunner::run_static() {
  SLUICE_TRY(record_static());
  SLUICE_TRY(run_range(*frame_.static_recording));
  finish_outputs(*frame_.static_recording);
  return ok_status();
}

Status FrameRunner::run_ranges() {
  const std::size_t num_operands = code_.subgraph->num_operands();
  frame_.values.resize(num_operands);
  frame_.bindings.resize(code_.numbers.num_fixed() + num_operands);
  RunKey key = input_key();
  // Held here, because a run of many shapes may drop what it recorded itself: the range before is
  // needed to plan the next, and the last one for the outputs.
  std::shared_ptr<const Recording> recording;
  do {
    recording = SLUICE_TRY(find_or_record(key, recording.get()));
    SLUICE_TRY(run_range(*recording));
    SLUICE_TRY(make_next_key(*recording, key));
  } while (recording->plan->range.end < code_.subgraph->order().size());
  finish_outputs(*recording);
  return ok_status();
}

Status FrameRunner::run_range(const Recording& recording) {
  // Every iteration of a loop runs a range, so this is the one place that ends an endless model.
  if (context_.checkpoint) SLUICE_TRY(context_.checkpoint());
  SLUICE_TRY(prepare_memory(recording));
  SLUICE_TRY(run_lists(recording));
  if (recording.plan->range.has_executor_end) SLUICE_TRY(run_executor_step(recording));
  return end_range(recording);
}

/// Streams run in order, so no list of a task starts before its captures are there.
Status FrameRunner::bring_captures(const Recording& recording) {
  RecordedLists& lists = *recording.lists;
  if (lists.captures.empty() || lists.captures_of == frame_.call_number) return ok_status();
  for (const RecordedLists::CaptureList& captures : lists.captures) {
    SLUICE_TRY(context_.streams[captures.group]->submit(captures.list, frame_.bindings));
    context_.copied_bytes += captures.copied_bytes;
  }
  lists.captures_of = frame_.call_number;
  return ok_status();
}

Status FrameRunner::run_lists(const Recording& recording) {
  SLUICE_TRY(recording.lists->take_kernels(recording.plan));
  SLUICE_TRY(settle_states(recording));
  SLUICE_TRY(bring_captures(recording));
  SLUICE_TRY(run_tasks(recording));
  context_.copied_bytes += recording.lists->copied_bytes;
  return ok_status();
}

Status FrameRunner::run_tasks(const Recording& recording) {
  if (!recording.plan->placement->tasks && context_.events && context_.trace == nullptr) {
    return run_ordered(recording);
  }
  const ListRun run{recording.lists->tasks, context_.streams, frame_.bindings, context_.trace,
                    &context_.checkpoint};
  if (!recording.plan->placement->tasks) return run_linear(run);
  if (model_.executor == ExecutorKind::kDataflow) return run_dataflow(run);
  if (context_.lanes == nullptr) {
    context_.lanes =
        std::make_unique<LaneThreads>(model_.segments.thread_of_group, model_.segments.cpus);
  }
  return context_.lanes->run(run);
}

/// Submits all segments, each behind the events of those whose memory it needs, then waits for all
/// streams, also after a failure: the next run reuses the memory.
Status FrameRunner::run_ordered(const Recording& recording) {
  Status first = ok_status();
  std::vector<device::Access> accesses;
  for (const TaskList& segment : recording.lists->tasks) {
    accesses.clear();
    for (const BoundAccess& access : segment.accesses) {
      const auto begin = reinterpret_cast<std::uintptr_t>(frame_.binding(access.binding)) +
                         static_cast<std::uintptr_t>(access.offset_bytes);
      accesses.push_back(
          {begin, begin + static_cast<std::uintptr_t>(access.size_bytes), access.is_write});
    }
    first = context_.events->order(context_.streams, segment.group, accesses);
    if (first.is_ok()) {
      first = submit_watched(segment, context_.streams[segment.group], frame_.bindings,
                             &context_.checkpoint);
    }
    if (!first.is_ok()) break;
  }
  for (device::PooledStream& stream : context_.streams) {
    const Status status = stream->wait();
    if (first.is_ok()) first = status;
  }
  context_.events->end_run();
  return first;
}

Status FrameRunner::run_executor_step(const Recording& recording) {
  const std::size_t position = recording.plan->range.end - 1;
  const ir::Operation& operation = last_operation(recording);
  frame_.step_types.assign(operation.outputs.size(), ir::Type());
  StepCall call(context_, frame_, *recording.plan, position);
  SLUICE_TRY(run_step(call).with_context(ir::describe(model_.executable.graph, operation)));
  for (std::size_t i = 0; i < operation.outputs.size(); ++i) {
    const ir::OperandId id = operation.outputs[i];
    if (!id.is_valid() || !code_.is_tensor(id) || frame_.step_types[i].is_tensor()) continue;
    return internal_error("{}: output {} was not given", operation.describe(), i);
  }
  return ok_status();
}

// Addresses are written to the bindings before every run: growing a buffer moves it, and the caller
// may have bound other outputs. Recordings hold binding numbers and need no change.
Status FrameRunner::prepare_memory(const Recording& recording) {
  auto& actual_dims = recording.lists->actual_dims;  // those of the run before are no news
  for (std::size_t i = 0; i < actual_dims.size(); ++i) {
    std::ranges::copy(largest_dims(recording, i), actual_dims[i].begin());
  }
  const plan::Placement& placement = *recording.plan->placement;
  SLUICE_TRY(frame_.arena.reserve(placement.layout.arena_bytes));
  frame_.bindings[static_cast<std::size_t>(code_.numbers.arena())] = frame_.arena.data();
  for (const WrittenOutput& written : recording.outputs) {
    SLUICE_TRY(
        prepare_output(written.output, written.size_bytes, recording.plan->in_place_outputs));
  }
  for (const ir::OperandId id : placement.kept) {
    const std::int32_t binding = code_.numbers.kept(id);
    AlignedBuffer& buffer = frame_.kept[binding];
    SLUICE_TRY(reserve_with_room(buffer, *ir::run_bytes(recording.plan->facts.type_of(id))));
    frame_.bindings[static_cast<std::size_t>(binding)] = buffer.data();
  }
  return ok_status();
}

Status FrameRunner::prepare_output(std::size_t output, std::int64_t size_bytes,
                                   std::span<const InPlaceOutput> in_place) {
  FrameOutput& to = frame_.outputs[output];
  if (frame_.is_direct(output, size_bytes, in_place)) {
    to.target = to.bound;
  } else {
    SLUICE_TRY(reserve_with_room(to.own, size_bytes));
    to.target = to.own.data();
  }
  frame_.bindings[frame_.inputs.size() + output] = to.target;
  return ok_status();
}

Status FrameRunner::end_range(const Recording& recording) {
  SLUICE_TRY(check_actual_dims(recording));
  return copy_outputs(recording);
}

/// A plug-in wrote the dimensions. Whatever reads a tensor of the range believes them from here on.
Status FrameRunner::check_actual_dims(const Recording& recording) const {
  const auto& actual_dims = recording.lists->actual_dims;
  for (std::size_t i = 0; i < actual_dims.size(); ++i) {
    const auto& dims = actual_dims[i];
    const auto largest = largest_dims(recording, i);
    const auto fits = [](std::int64_t dim, std::int64_t most) { return dim >= 0 && dim <= most; };
    if (std::ranges::equal(dims, largest, fits)) continue;
    return internal_error("{}: its kernel reports dimensions {} of output {}, which has at most {}",
                          ir::describe(model_.executable.graph, last_operation(recording)),
                          text_of(dims), i, text_of(largest));
  }
  return ok_status();
}

Status FrameRunner::copy_outputs(const Recording& recording) {
  for (const plan::OutputCopy& copy : recording.plan->placement->copies) {
    if (frame_.outputs[copy.output].is_skipped) continue;
    const auto size = ir::run_bytes(actual_type(recording, copy.source));
    if (!size) return internal_error("output {} has no size", copy.output);
    SLUICE_TRY(prepare_output(copy.output, *size, {}));
    if (*size == 0) continue;
    context_.copied_bytes += *size;
    std::memcpy(frame_.outputs[copy.output].target, address_of(*recording.plan, copy.source),
                static_cast<std::size_t>(*size));
  }
  return ok_status();
}

void FrameRunner::finish_outputs(const Recording& last) {
  const ir::Subgraph& subgraph = *code_.subgraph;
  for (std::size_t i = 0; i < frame_.outputs.size(); ++i) {
    FrameOutput& output = frame_.outputs[i];
    const ir::OperandId id = subgraph.outputs[i];
    if (!code_.is_tensor(id)) {
      output.value = frame_.values[id.index()];
      continue;
    }
    if (output.is_skipped) continue;
    if (!last.output_views.empty()) {
      output.view = last.output_views[i];
    } else {
      const ir::Type type = actual_type(last, id);
      output.view = {nullptr, *ir::run_bytes(type), type.element(), *type.static_dims()};
    }
    output.view.data = output.target;
  }
}

const ir::Operation& FrameRunner::last_operation(const Recording& recording) const {
  return code_.operation_at(recording.plan->range.end - 1);
}

std::vector<std::int64_t> FrameRunner::largest_dims(const Recording& recording,
                                                    std::size_t output) const {
  const ir::OperandId id = last_operation(recording).outputs[output];
  if (!id.is_valid()) return {};
  return *recording.plan->facts.type_of(id).static_dims();
}

ir::Type FrameRunner::actual_type(const Recording& recording, ir::OperandId id) const {
  const RangePlan& plan = *recording.plan;
  const ir::Type& planned = plan.facts.type_of(id);
  if (!plan.range.has_executor_end && recording.lists->actual_dims.empty()) return planned;
  const ir::Operation& last = last_operation(recording);
  for (std::size_t i = 0; i < last.outputs.size(); ++i) {
    if (last.outputs[i] != id) continue;
    if (plan.range.has_executor_end) return frame_.step_types[i];
    const auto& dims = recording.lists->actual_dims[i];
    return planned.with_shape(ir::Shape(dims.begin(), dims.end()));
  }
  return planned;
}

const void* FrameRunner::address_of(const RangePlan& plan, ir::OperandId id) const {
  return tensor_address(frame_, plan.placement->places[id.index()]);
}

}  // namespace sluice::exec
