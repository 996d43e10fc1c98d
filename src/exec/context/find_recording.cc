// Finds or plans the recordings of the ranges of a run, by the shapes and values known so far.
#include <bit>
#include <cstdint>
#include <span>
#include <utility>

#include "base/log/event_log.h"
#include "exec/context/frame_runner.h"

namespace sluice::exec {
namespace {

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

RunKey FrameRunner::input_key() const {
  RunKey key = {code_.id.value(), -1};
  for (std::size_t i = 0; i < frame_.inputs.size(); ++i) {
    if (!code_.is_tensor(code_.subgraph->inputs[i])) continue;
    const terms::TensorView& view = frame_.inputs[i];
    // The rank separates the dimensions of neighbouring inputs: [2,3],[4] and [2],[3,4] differ.
    key.push_back(static_cast<std::int64_t>(view.element));
    key.push_back(static_cast<std::int64_t>(view.dims.size()));
    key.insert(key.end(), view.dims.begin(), view.dims.end());
    if (code_.is_shape_input[i]) append_facts(read_facts(type_of(view), view.data), key);
  }
  return key;
}

Result<std::shared_ptr<const Recording>> FrameRunner::find_or_record(const RunKey& key,
                                                                     const Recording* previous) {
  if (const auto* found = context_.recordings.find(key)) return *found;
  auto plan = SLUICE_TRY(find_or_plan(key, previous));
  auto lists = SLUICE_TRY(find_or_record_lists(plan));
  std::shared_ptr<const Recording> recording =
      make_recording(code_, std::move(plan), std::move(lists));
  const bool is_cheap = recording->plan->is_variation();
  context_.recordings.insert(key, recording, recording->bytes(), is_cheap);
  return recording;
}

Result<std::shared_ptr<RecordedLists>> FrameRunner::find_or_record_lists(
    const std::shared_ptr<const RangePlan>& plan) {
  auto& known = context_.lists;
  const auto found = known.find(plan->placement.get());
  std::shared_ptr<RecordedLists> lists;
  if (found != known.end()) lists = found->second.lock();
  if (lists != nullptr && lists->serves(*plan)) return lists;
  lists = SLUICE_TRY(record_lists(model_, code_, plan, {}, states()));
  std::erase_if(known, [](const auto& entry) { return entry.second.expired(); });
  known[plan->placement.get()] = lists;
  lists->count_bytes(&context_.list_bytes);
  return lists;
}

/// Another context may have planned the same shapes, or similar ones. Two that plan at once both
/// insert: the first wins.
Result<std::shared_ptr<const RangePlan>> FrameRunner::find_or_plan(const RunKey& key,
                                                                   const Recording* previous) {
  if (auto plan = model_.plans.find(key)) return plan;
  RangeRequest request;
  if (previous == nullptr) {
    request.facts = first_facts();
  } else {
    request.begin = previous->plan->range.end;
    request.facts = SLUICE_TRY(next_facts(*previous));
    request.earlier = previous->plan->placement;
  }
  const auto similar =
      model_.plans.find_similar(code_.id, request.begin, request.facts, code_.subgraph->inputs);
  request.similar = similar;
  auto plan = SLUICE_TRY(make_range_plan(model_, code_, std::move(request)));
  log_event(LogLevel::kDebug, "shapes.planned subgraph={} first_operation={} end={} arena_bytes={}",
            code_.id.value(), plan->range.begin, plan->range.end,
            plan->placement->layout.arena_bytes);
  return model_.plans.insert(key, std::move(plan), code_.id, similar);
}

Facts FrameRunner::first_facts() const {
  Facts facts = code_.initial_facts;
  const ir::Subgraph& subgraph = *code_.subgraph;
  for (std::size_t i = 0; i < subgraph.inputs.size(); ++i) {
    const ir::OperandId id = subgraph.inputs[i];
    const terms::TensorView& view = frame_.inputs[i];
    if (!code_.is_tensor(id)) {
      facts.set(id, {subgraph.operand(id).type, std::nullopt, std::nullopt});
    } else if (code_.is_shape_input[i]) {
      facts.set(id, read_facts(type_of(view), view.data));
    } else {
      facts.set(id, {type_of(view), std::nullopt, std::nullopt});
    }
  }
  return facts;
}

/// Facts of an operand whose elements the next range wants.
Result<ops::OperandFacts> FrameRunner::learned_facts(const Recording& previous,
                                                     ir::OperandId id) const {
  ops::OperandFacts facts = read_facts(actual_type(previous, id), address_of(*previous.plan, id));
  if (facts.values || facts.float_values) return facts;
  return unimplemented("operand \"{}\" of type {} cannot give a shape",
                       code_.subgraph->operand(id).name, facts.type.to_string());
}

Result<Facts> FrameRunner::next_facts(const Recording& previous) const {
  const RangePlan& plan = *previous.plan;
  Facts facts = plan.facts;
  // A range is empty if its first operation wants elements that nobody could read yet.
  const bool is_empty = plan.range.begin == plan.range.end;
  const std::span<const ir::OperandId> results =
      is_empty ? std::span<const ir::OperandId>()
               : std::span(code_.operation_at(plan.range.end - 1).outputs);
  for (const ir::OperandId id : results) {
    if (!id.is_valid() || !code_.is_tensor(id)) continue;
    ops::OperandFacts actual = facts.of(id);
    actual.type = actual_type(previous, id);
    facts.set(id, std::move(actual));
  }
  for (const ir::OperandId id : plan.range.wanted_values) {
    facts.set(id, SLUICE_TRY(learned_facts(previous, id)));
  }
  return facts;
}

/// The range before stands for all that is known earlier.
Status FrameRunner::make_next_key(const Recording& recording, RunKey& key) const {
  const RangePlan& plan = *recording.plan;
  if (plan.range.end == code_.subgraph->order().size()) return ok_status();
  key = {code_.id.value(), plan.number};
  for (const auto& dims : recording.lists->actual_dims)
    key.insert(key.end(), dims.begin(), dims.end());
  if (plan.range.has_executor_end) {
    for (const ir::Type& type : frame_.step_types) {
      if (!type.is_tensor()) continue;
      const auto dims = *type.static_dims();
      key.push_back(static_cast<std::int64_t>(type.element()));
      key.push_back(static_cast<std::int64_t>(dims.size()));
      key.insert(key.end(), dims.begin(), dims.end());
    }
  }
  for (const ir::OperandId id : plan.range.wanted_values) {
    append_facts(SLUICE_TRY(learned_facts(recording, id)), key);
  }
  return ok_status();
}

}  // namespace sluice::exec
