#include "exec/context/recording.h"

#include <algorithm>
#include <map>
#include <utility>

#include "exec/model_state.h"

namespace sluice::exec {
namespace {

/// Appends the kernels of a range to command lists, a list per segment. Addresses of inputs,
/// outputs and the arena are binding numbers, set at each submission; addresses of constants are
/// fixed.
class Recorder {
 public:
  Recorder(const ModelState& model, const SubgraphCode& code, Recording& recording,
           const std::stop_token& stop)
      : model_(model), code_(code), plan_(*recording.plan), recording_(recording), stop_(stop) {}

  Status run() {
    const StepRange& range = plan_.range;
    for (std::size_t at = range.begin; at < range.end; ++at) {
      find_outputs(at);
      if (plan_.kernels[at - range.begin] != nullptr) SLUICE_TRY(add_step(at));
    }
    for (Segment& segment : recording_.segments) SLUICE_TRY(segment.list.finish());
    return ok_status();
  }

 private:
  bool is_executor_step(std::size_t at) const {
    return plan_.range.has_executor_end && at + 1 == plan_.range.end;
  }

  void find_outputs(std::size_t at) {
    if (is_executor_step(at)) return;
    const plan::BindingNumbers& numbers = code_.numbers;
    for (const ir::OperandId id : code_.operation_at(at).outputs) {
      if (!id.is_valid()) continue;
      const plan::Place& place = plan_.placement.places[id.index()];
      const bool is_output = place.kind == plan::Place::Kind::kBinding && place.operand == id &&
                             place.binding >= numbers.output(0) && place.binding < numbers.arena();
      if (!is_output) continue;
      recording_.outputs.push_back({static_cast<std::size_t>(place.binding - numbers.output(0)),
                                    *ir::run_bytes(plan_.facts[id.index()].type)});
    }
  }

  Status add_step(std::size_t at) {
    const ir::Operation& operation = code_.operation_at(at);
    const bool is_data_dependent = plan_.range.has_data_dependent_end && at + 1 == plan_.range.end;
    if (is_data_dependent) prepare_actual_dims(operation);
    Segment& segment = *SLUICE_TRY(segment_for(at));
    if (segment.mirror != nullptr) SLUICE_TRY(copy_in(operation, segment));
    std::vector<sluice_argument> inputs;
    for (const ir::OperandId id : operation.inputs) {
      inputs.push_back(SLUICE_TRY(argument(id, segment)));
    }
    if (operation.body) {
      for (const ir::OperandId id : operation.body->inputs) {
        inputs.push_back(SLUICE_TRY(argument(id, segment)));
      }
    }
    std::vector<sluice_argument> outputs;
    for (std::size_t i = 0; i < operation.outputs.size(); ++i) {
      outputs.push_back(SLUICE_TRY(argument(operation.outputs[i], segment)));
      if (is_data_dependent) outputs.back().actual_dims = recording_.actual_dims[i].data();
      if (holds_strings(operation.outputs[i])) outputs.back().texts = code_.numbers.texts();
    }
    SLUICE_TRY(segment.list.add_kernel(plan_.kernels[at - plan_.range.begin], inputs, outputs));
    for (const ir::OperandId id : reads(operation)) add_access(id, false, segment);
    for (const ir::OperandId id : operation.outputs) add_access(id, true, segment);
    return segment.mirror != nullptr ? copy_out(at, segment) : ok_status();
  }

  static std::vector<ir::OperandId> reads(const ir::Operation& operation) {
    std::vector<ir::OperandId> all = operation.inputs;
    if (operation.body) {
      all.insert(all.end(), operation.body->inputs.begin(), operation.body->inputs.end());
    }
    return all;
  }

  /// Null for an operand without memory of its context: absent, or a constant.
  const plan::Place* find_memory(ir::OperandId id) const {
    if (!id.is_valid()) return nullptr;
    const plan::Place& place = plan_.placement.places[id.index()];
    const bool has_memory =
        place.kind == plan::Place::Kind::kArena || place.kind == plan::Place::Kind::kBinding;
    return has_memory ? &place : nullptr;
  }

  std::int64_t bytes_of(ir::OperandId id) const {
    return ir::run_bytes(plan_.facts[id.index()].type).value_or(0);
  }

  void add_access(ir::OperandId id, bool is_write, Segment& segment) const {
    const plan::Place* place = find_memory(id);
    if (place == nullptr || model_.segments.groups.size() == 1) return;  // one stream: no events
    segment.accesses.push_back({place->binding, place->offset_bytes, bytes_of(id), is_write});
  }

  Status copy_in(const ir::Operation& operation, Segment& segment) {
    for (const ir::OperandId id : reads(operation)) {
      const plan::Place* place = find_memory(id);
      if (place == nullptr) continue;
      SLUICE_TRY(segment.mirror->copy_in(*place, bytes_of(id), segment.list));
    }
    return ok_status();
  }

  /// Copies to the host the results of the step at `at` that anything outside the segment reads.
  Status copy_out(std::size_t at, Segment& segment) {
    for (const ir::OperandId id : code_.operation_at(at).outputs) {
      const plan::Place* place = find_memory(id);
      if (place == nullptr) continue;
      segment.mirror->mark_present(*place);
      if (!is_read_outside(place->operand, segment.index)) continue;
      SLUICE_TRY(segment.mirror->copy_out(*place, bytes_of(id), segment.list));
    }
    return ok_status();
  }

  /// Whether the memory of `owner` is an output of the subgraph, or a step that is no kernel of the
  /// segment in this range reads it. Views of the memory count as the memory. In a body several
  /// lists of one group have the same index and memory of their own each, so all results count.
  bool is_read_outside(ir::OperandId owner, std::size_t segment) const {
    if (code_.id.index() != 0) return true;
    const auto is_outside = [&](std::size_t at) {
      if (at >= plan_.range.end || is_executor_step(at)) return true;
      const bool is_kernel = plan_.kernels[at - plan_.range.begin] != nullptr;
      return is_kernel && segment_index(at) != segment;
    };
    const auto readers = readers_.find(owner);
    return readers != readers_.end() && std::ranges::any_of(readers->second, is_outside);
  }

  /// By owner of memory: positions that read it, from the range's begin to the end of the subgraph,
  /// whose outputs count as read at the end.
  void find_readers() {
    const auto add = [&](ir::OperandId id, std::size_t at) {
      const plan::Place* place = find_memory(id);
      if (id.is_valid()) readers_[place != nullptr ? place->operand : id].push_back(at);
    };
    const std::size_t end = code_.subgraph->order().size();
    for (std::size_t at = plan_.range.begin; at < end; ++at) {
      for (const ir::OperandId id : reads(code_.operation_at(at))) add(id, at);
    }
    for (const ir::OperandId id : code_.subgraph->outputs) add(id, end);
  }

  bool holds_strings(ir::OperandId id) const {
    return id.is_valid() && plan_.facts[id.index()].type.element() == ir::ElementType::kString;
  }

  /// Kernels of data-dependent shapes write the actual dimensions through a pointer that is
  /// recorded here, so these vectors must keep their addresses as long as the recording lives.
  void prepare_actual_dims(const ir::Operation& operation) {
    for (const ir::OperandId id : operation.outputs) {
      recording_.actual_dims.push_back(id.is_valid() ? *plan_.facts[id.index()].type.static_dims()
                                                     : std::vector<std::int64_t>());
    }
  }

  Result<sluice_argument> argument(ir::OperandId id, const Segment& segment) {
    if (!id.is_valid()) return backend::absent_argument();
    const plan::Place& place = plan_.placement.places[id.index()];
    switch (place.kind) {
      case plan::Place::Kind::kArena:
      case plan::Place::Kind::kBinding:
        return segment.mirror != nullptr
                   ? segment.mirror->argument(place)
                   : backend::bound_argument(place.binding, place.offset_bytes);
      case plan::Place::Kind::kConstant:
        return backend::fixed_argument(
            SLUICE_TRY(constant_address(place.operand, *model_.segments.groups[segment.group])));
      case plan::Place::Kind::kNone: break;
    }
    return backend::absent_argument();
  }

  /// String constants stay in host memory: a sluice_text holds a host pointer.
  Result<const void*> constant_address(ir::OperandId id, const backend::Group& group) {
    const void* here = code_.constant_data(id);
    const ir::Constant& constant = *code_.subgraph->find_constant(id);
    const bool is_text = constant.type.element() == ir::ElementType::kString;
    if (!model_.options.bring_constant || is_text) return here;
    auto brought = model_.options.bring_constant(group, constant.data, stop_);
    const std::string& name = code_.subgraph->operand(id).name;
    auto there = SLUICE_TRY(std::move(brought).with_context("constant \"" + name + "\""));
    if (there == nullptr) return here;
    recording_.constants.push_back(std::move(there));
    return recording_.constants.back().get();
  }

  std::size_t segment_index(std::size_t at) const {
    if (code_.id.index() == 0) return model_.segments.segment_of_position[at];
    return model_.segments.group_at(model_.executable, code_.id, at);
  }

  /// Memory on the device of `group` for the kernels from `first` to the end of their segment; null
  /// if the device reads host memory.
  Result<std::unique_ptr<DeviceMirror>> make_mirror(std::size_t first,
                                                    const backend::Group& group) {
    const auto device = static_cast<std::size_t>(group.device());
    if (group.backend().devices()[device].has_host_memory) return std::unique_ptr<DeviceMirror>();
    if (readers_.empty()) find_readers();
    auto mirror = std::make_unique<DeviceMirror>();
    for (std::size_t at = first; at < plan_.range.end; ++at) {
      if (is_executor_step(at) || plan_.kernels[at - plan_.range.begin] == nullptr) continue;
      if (segment_index(at) != segment_index(first)) break;
      SLUICE_TRY(add_operands(code_.operation_at(at), group, *mirror));
    }
    SLUICE_TRY(mirror->allocate(group).with_context(code_.operation_at(first).describe() +
                                                    " and the rest of its segment"));
    return mirror;
  }

  Status add_operands(const ir::Operation& operation, const backend::Group& group,
                      DeviceMirror& mirror) const {
    std::vector<ir::OperandId> operands = reads(operation);
    operands.insert(operands.end(), operation.outputs.begin(), operation.outputs.end());
    for (const ir::OperandId id : operands) {
      if (holds_strings(id)) {
        return unimplemented(
            "{}: backend \"{}\" has memory of its own, which strings do not enter; keep the "
            "operation on the host: --place \"{}=host\"",
            operation.describe(), group.backend().name(),
            operation.name.empty() ? operation.kind : operation.name);
      }
      if (const plan::Place* place = find_memory(id)) mirror.add(*place, bytes_of(id));
    }
    return ok_status();
  }

  Result<Segment*> segment_for(std::size_t at) {
    const std::size_t group = model_.segments.group_at(model_.executable, code_.id, at);
    const std::size_t index = segment_index(at);
    // Steps of a segment are neighbours in the main order. In a body the list ends where the group
    // changes, so that a group may have several lists, submitted in order.
    if (recording_.segments.empty() || recording_.segments.back().index != index) {
      auto list = SLUICE_TRY(backend::CommandList::create(model_.segments.groups[group]));
      auto mirror = SLUICE_TRY(make_mirror(at, *model_.segments.groups[group]));
      recording_.segments.push_back({index, group, std::move(mirror), std::move(list), {}});
    }
    return &recording_.segments.back();
  }

  const ModelState& model_;
  const SubgraphCode& code_;
  const RangePlan& plan_;
  Recording& recording_;
  const std::stop_token& stop_;
  std::map<ir::OperandId, std::vector<std::size_t>> readers_;  ///< see find_readers
};

}  // namespace

Result<std::unique_ptr<Recording>> record(const ModelState& model, const SubgraphCode& code,
                                          std::shared_ptr<const RangePlan> plan,
                                          const std::stop_token& stop) {
  auto recording = std::make_unique<Recording>();
  recording->plan = std::move(plan);
  SLUICE_TRY(Recorder(model, code, *recording, stop).run());
  return recording;
}

}  // namespace sluice::exec
