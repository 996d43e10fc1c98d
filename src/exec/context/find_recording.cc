// Finds or plans the recordings of the ranges of a run, by the shapes and values known so far.
#include <bit>
#include <cstdint>
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
  RunKey key;
  for (std::size_t i = 0; i < frame_.inputs.size(); ++i) {
    if (!code_.is_tensor(code_.subgraph->inputs[i])) continue;
    const TensorView& view = frame_.inputs[i];
    // The rank separates the dimensions of neighbouring inputs: [2,3],[4] and [2],[3,4] differ.
    key.push_back(static_cast<std::int64_t>(view.element));
    key.push_back(static_cast<std::int64_t>(view.dims.size()));
    key.insert(key.end(), view.dims.begin(), view.dims.end());
    if (code_.is_shape_input[i]) append_facts(read_facts(type_of(view), view.data), key);
  }
  return key;
}

Result<const Recording*> FrameRunner::find_or_record(const RunKey& key, const Recording* previous) {
  const auto it = frame_.recordings.find(key);
  if (it != frame_.recordings.end()) return static_cast<const Recording*>(it->second.get());
  // Another context may have planned the same shapes; two that plan at once both insert, the first
  // wins.
  auto plan = code_.plans.find(key);
  if (plan == nullptr) {
    plan = SLUICE_TRY(plan_next(previous));
    log_event(
        LogLevel::kDebug, "shapes.planned subgraph={} first_operation={} end={} arena_bytes={}",
        code_.id.value(), plan->range.begin, plan->range.end, plan->placement.layout.arena_bytes);
    code_.plans.insert(key, plan);
  }
  auto recording = SLUICE_TRY(record(model_, code_, std::move(plan)));
  const Recording* result = recording.get();
  frame_.recordings.emplace(key, std::move(recording));
  return result;
}

Result<std::shared_ptr<const RangePlan>> FrameRunner::plan_next(const Recording* previous) const {
  if (previous == nullptr) return make_range_plan(model_, code_, 0, first_facts(), {});
  return make_range_plan(model_, code_, previous->plan->range.end,
                         SLUICE_TRY(next_facts(*previous)), previous->plan->placement.places);
}

ops::SubgraphFacts FrameRunner::first_facts() const {
  ops::SubgraphFacts facts = code_.initial_facts;
  const ir::Subgraph& subgraph = *code_.subgraph;
  for (std::size_t i = 0; i < subgraph.inputs.size(); ++i) {
    ops::OperandFacts& input = facts[subgraph.inputs[i].index()];
    if (!code_.is_tensor(subgraph.inputs[i])) {
      input = {subgraph.operand(subgraph.inputs[i]).type, std::nullopt, std::nullopt};
      continue;
    }
    const TensorView& view = frame_.inputs[i];
    input = {type_of(view), std::nullopt, std::nullopt};
    if (code_.is_shape_input[i]) input = read_facts(type_of(view), view.data);
  }
  return facts;
}

Result<ops::SubgraphFacts> FrameRunner::next_facts(const Recording& previous) const {
  const RangePlan& plan = *previous.plan;
  ops::SubgraphFacts facts = plan.facts;
  for (const ir::OperandId id : code_.operation_at(plan.range.end - 1).outputs) {
    if (!id.is_valid() || !code_.is_tensor(id)) continue;
    facts[id.index()].type = actual_type(previous, id);
  }
  for (const ir::OperandId id : plan.range.wanted_values) {
    facts[id.index()] = read_facts(facts[id.index()].type, address_of(plan, id));
    if (!facts[id.index()].values && !facts[id.index()].float_values) {
      return unimplemented("operand \"{}\" of type {} cannot give a shape",
                           code_.subgraph->operand(id).name, facts[id.index()].type.to_string());
    }
  }
  return facts;
}

Status FrameRunner::extend_key(const Recording& recording, RunKey& key) const {
  const RangePlan& plan = *recording.plan;
  if (plan.range.end == code_.subgraph->order().size()) return ok_status();
  const ops::SubgraphFacts facts = SLUICE_TRY(next_facts(recording));
  // The position comes first: two ranges of equal shapes must not have equal keys.
  key.push_back(static_cast<std::int64_t>(plan.range.end));
  for (const auto& dims : recording.actual_dims) key.insert(key.end(), dims.begin(), dims.end());
  if (plan.range.has_executor_end) {
    for (const ir::Type& type : frame_.step_types) {
      if (!type.is_tensor()) continue;
      const auto dims = *type.static_dims();
      key.push_back(static_cast<std::int64_t>(type.element()));
      key.push_back(static_cast<std::int64_t>(dims.size()));
      key.insert(key.end(), dims.begin(), dims.end());
    }
  }
  for (const ir::OperandId id : plan.range.wanted_values) append_facts(facts[id.index()], key);
  return ok_status();
}

}  // namespace sluice::exec
