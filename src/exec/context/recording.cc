#include "exec/context/recording.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "backend/extensions/list_memory.h"
#include "base/log/work_counts.h"
#include "device/device_services.h"
#include "exec/model_state.h"
#include "exec/states/kept_states.h"
#include "exec/states/state_group.h"

namespace sluice::exec {
namespace {

/// Appends the kernels of a range to command lists, a list per task: those of the plan, else a task
/// for the steps of a segment. Addresses of inputs, outputs and the arena are binding numbers, set
/// at each submission; addresses of constants are fixed.
class Recorder {
 public:
  Recorder(const ModelState& model, const SubgraphCode& code, RecordedLists& lists,
           const std::stop_token& stop, KeptStates* states)
      : model_(model),
        code_(code),
        plan_(*lists.plan),
        lists_(lists),
        stop_(stop),
        states_(states) {}

  Status run() {
    const StepRange& range = plan_.range;
    divide_steps();
    SLUICE_TRY(place_states());
    SLUICE_TRY(open_tasks());
    lists_.entries.resize(range.end - range.begin);
    for (std::size_t at = range.begin; at < range.end; ++at) {
      if (has_kernel(at)) SLUICE_TRY(add_step(at));
    }
    SLUICE_TRY(find_whether_exchangeable());
    for (TaskList& task : lists_.tasks) SLUICE_TRY(finish(task.list, task.group));
    for (RecordedLists::CaptureList& captures : lists_.captures) {
      SLUICE_TRY(finish(captures.list, captures.group));
    }
    count_bytes();
    return ok_status();
  }

  /// Adds up what `run` would allocate.
  std::vector<LoadedModel::DeviceUse> predict() {
    divide_steps();
    std::map<std::pair<std::string, int>, LoadedModel::DeviceUse> uses;
    std::set<std::pair<std::size_t, ir::OperandId>> counted;  // constants, by group
    std::set<std::size_t> started;                            // tasks
    for (std::size_t at = plan_.range.begin; at < plan_.range.end; ++at) {
      if (!has_kernel(at)) continue;
      const std::size_t index = group_of_task(at);
      if (model_.segments.is_on_host(index)) continue;
      const backend::Group& group = *model_.segments.groups[index];
      LoadedModel::DeviceUse& use = uses[{group.backend().name(), group.device()}];
      use.backend = group.backend().name();
      use.device = group.device();
      for (const ir::OperandId id : code_.operation_at(at).reads()) {
        const ir::Constant* constant = id.is_valid() ? code_.subgraph->find_constant(id) : nullptr;
        if (constant == nullptr || !counted.emplace(index, id).second) continue;
        const auto size = static_cast<std::int64_t>(constant->data.size());
        use.constant_bytes += device::MemoryPool::block_bytes(size).value_or(size);
      }
      if (!started.insert(task_at(at)).second) continue;
      DeviceMirror mirror;
      // Strings are refused when the list is recorded, with a message; here they count nothing.
      if (fill_mirror(task_at(at), at, group, mirror).is_ok()) {
        const std::int64_t size = mirror.size_bytes();
        use.tensor_bytes += device::MemoryPool::block_bytes(size).value_or(size);
      }
    }
    std::vector<LoadedModel::DeviceUse> all;
    for (auto& [device, use] : uses) all.push_back(std::move(use));
    return all;
  }

 private:
  Status finish(backend::CommandList& list, std::size_t group) {
    SLUICE_TRY(list.finish());
    const backend::Backend& backend = model_.segments.groups[group]->backend();
    lists_.bytes +=
        SLUICE_TRY(backend::held_bytes(backend, list.get())).value_or(list.estimated_bytes());
    return ok_status();
  }

  void count_bytes() {
    lists_.bytes += static_cast<std::int64_t>(sizeof(lists_));
    for (const TaskList& task : lists_.tasks) {
      lists_.bytes +=
          static_cast<std::int64_t>(sizeof(task) + task.accesses.size() * sizeof(task.accesses[0]));
    }
    for (const auto& mirror : lists_.mirrors) {
      lists_.bytes += mirror == nullptr ? 0 : mirror->size_bytes();
    }
  }

  bool is_executor_step(std::size_t at) const {
    return plan_.range.has_executor_end && at + 1 == plan_.range.end;
  }

  /// Copies, orders of events and results of unknown size have sizes beside those in kernels.
  Status find_whether_exchangeable() {
    if (lists_.tasks.empty() || !lists_.actual_dims.empty()) return ok_status();
    for (std::size_t task = 0; task < lists_.tasks.size(); ++task) {
      const bool has_sizes =
          lists_.mirrors[task] != nullptr || !lists_.tasks[task].accesses.empty();
      if (has_sizes || SLUICE_TRY(backend::find_exchange(group_of(task).backend())) == nullptr) {
        return ok_status();
      }
    }
    lists_.is_exchangeable = true;
    return ok_status();
  }

  Status add_step(std::size_t at) {
    const ir::Operation& operation = code_.operation_at(at);
    const bool is_data_dependent = plan_.range.has_data_dependent_end && at + 1 == plan_.range.end;
    if (is_data_dependent) prepare_actual_dims(operation);
    const std::size_t task = task_at(at);
    const bool has_mirror = lists_.mirrors[task] != nullptr;
    if (has_mirror) SLUICE_TRY(copy_in(operation, task));
    inputs_.clear();
    for (const ir::OperandId id : operation.inputs) {
      inputs_.push_back(SLUICE_TRY(argument(id, task)));
    }
    if (operation.body) {
      for (const ir::OperandId id : operation.body->inputs) {
        inputs_.push_back(SLUICE_TRY(argument(id, task)));
      }
    }
    outputs_.clear();
    for (std::size_t i = 0; i < operation.outputs.size(); ++i) {
      outputs_.push_back(SLUICE_TRY(argument(operation.outputs[i], task)));
      if (is_data_dependent) outputs_.back().actual_dims = lists_.actual_dims[i].data();
      if (holds_strings(operation.outputs[i])) outputs_.back().texts = code_.numbers.texts();
    }
    backend::CommandList& list = lists_.tasks[task].list;
    lists_.entries[at - plan_.range.begin] = {static_cast<std::int32_t>(task), list.num_entries()};
    SLUICE_TRY(list.add_kernel(plan_.kernels[at - plan_.range.begin], inputs_, outputs_));
    ++work_counts.recorded_kernels;
    add_accesses(operation, task);
    for (const ir::OperandId id : operation.outputs) {
      if (const plan::Place* place = find_memory(id)) writers_[place->operand] = task;
    }
    return has_mirror ? copy_out(at, task) : ok_status();
  }

  /// Null for an operand without memory of its context: absent, or a constant.
  const plan::Place* find_memory(ir::OperandId id) const {
    if (!id.is_valid()) return nullptr;
    const plan::Place& place = plan_.placement->places[id.index()];
    const bool has_memory =
        place.kind == plan::Place::Kind::kArena || place.kind == plan::Place::Kind::kBinding;
    return has_memory ? &place : nullptr;
  }

  std::int64_t bytes_of(ir::OperandId id) const {
    return ir::run_bytes(plan_.facts.type_of(id)).value_or(0);
  }

  void add_accesses(const ir::Operation& operation, std::size_t task) {
    if (model_.segments.groups.size() == 1) return;  // one stream: no events
    const auto add = [&](ir::OperandId id, bool is_write) {
      const plan::Place* place = find_memory(id);
      if (place == nullptr) return;
      lists_.tasks[task].accesses.push_back(
          {place->binding, place->offset_bytes, bytes_of(id), is_write});
    };
    for (const ir::OperandId id : operation.reads()) add(id, false);
    for (const ir::OperandId id : operation.outputs) add(id, true);
  }

  Status copy_in(const ir::Operation& operation, std::size_t task) {
    for (const ir::OperandId id : operation.reads()) {
      const plan::Place* place = find_memory(id);
      if (place == nullptr) continue;
      const CopyList to = SLUICE_TRY(list_for_copy(*place, task));
      const auto writer = writers_.find(place->operand);
      const bool is_given = writer != writers_.end() && hands_over(writer->second, task);
      *to.copied_bytes += SLUICE_TRY(
          lists_.mirrors[task]->copy_in(*place, bytes_of(id), *to.list,
                                        is_given ? lists_.mirrors[writer->second].get() : nullptr));
    }
    return ok_status();
  }

  /// Whether a task copies tensors of an earlier one from the memory of its device.
  bool hands_over(std::size_t from, std::size_t to) const {
    if (lists_.mirrors[from] == nullptr || lists_.mirrors[to] == nullptr) return false;
    const backend::Group& giver = group_of(from);
    const backend::Group& taker = group_of(to);
    if (&giver.backend() != &taker.backend()) return false;
    return giver.device() == taker.device() || giver.backend().copies_between_devices();
  }

  /// A list and the count of what it copies.
  struct CopyList {
    backend::CommandList* list;
    std::int64_t* copied_bytes;
  };

  /// The list that copies a tensor to the device of a task: one that runs once per call for
  /// captured tensors, else that of the task.
  Result<CopyList> list_for_copy(const plan::Place& place, std::size_t task) {
    const bool is_input =
        place.kind == plan::Place::Kind::kBinding && place.binding < code_.numbers.output(0);
    if (!is_input || !code_.is_captured(static_cast<std::size_t>(place.binding))) {
      return CopyList{&lists_.tasks[task].list, &lists_.copied_bytes};
    }
    if (capture_list_of_.empty()) capture_list_of_.resize(lists_.tasks.size());
    std::optional<std::size_t>& index = capture_list_of_[task];
    if (!index) {
      index = lists_.captures.size();
      const std::size_t group = lists_.tasks[task].group;
      lists_.captures.push_back(
          {group, SLUICE_TRY(backend::CommandList::create(model_.segments.groups[group]))});
    }
    RecordedLists::CaptureList& captures = lists_.captures[*index];
    return CopyList{&captures.list, &captures.copied_bytes};
  }

  /// Copies to the host the results of the step at `at` that anything outside the task reads.
  Status copy_out(std::size_t at, std::size_t task) {
    DeviceMirror& mirror = *lists_.mirrors[task];
    for (const ir::OperandId id : code_.operation_at(at).outputs) {
      const plan::Place* place = find_memory(id);
      if (place == nullptr) continue;
      mirror.mark_present(*place);
      if (!is_read_outside(place->operand, task)) continue;
      lists_.copied_bytes +=
          SLUICE_TRY(mirror.copy_out(*place, bytes_of(id), lists_.tasks[task].list));
    }
    return ok_status();
  }

  /// Whether the memory of `owner` is an output of the subgraph, or a step reads it that is neither
  /// a kernel of the task nor of one to which the task hands it over. Views of the memory count as
  /// the memory.
  bool is_read_outside(ir::OperandId owner, std::size_t task) const {
    const auto is_outside = [&](std::size_t at) {
      if (at >= plan_.range.end || is_executor_step(at)) return true;
      return has_kernel(at) && task_at(at) != task && !hands_over(task, task_at(at));
    };
    const auto readers = readers_.find(owner);
    return readers != readers_.end() && std::ranges::any_of(readers->second, is_outside);
  }

  /// By owner of memory: positions of the range that read it, and the range's end if something
  /// behind it does.
  void find_readers() {
    const auto add = [&](ir::OperandId id, std::size_t at) {
      const plan::Place* place = find_memory(id);
      if (id.is_valid()) readers_[place != nullptr ? place->operand : id].push_back(at);
    };
    for (std::size_t at = plan_.range.begin; at < plan_.range.end; ++at) {
      const ir::Operation& operation = code_.operation_at(at);
      for (const ir::OperandId id : operation.reads()) add(id, at);
      for (const ir::OperandId id : operation.outputs) {
        if (id.is_valid() && code_.last_use[id.index()] >= plan_.range.end)
          add(id, plan_.range.end);
      }
    }
  }

  bool holds_strings(ir::OperandId id) const {
    return id.is_valid() && plan_.facts.type_of(id).element() == ir::ElementType::kString;
  }

  /// Kernels of data-dependent shapes write the actual dimensions through a pointer that is
  /// recorded here, so these vectors must keep their addresses as long as the recording lives.
  void prepare_actual_dims(const ir::Operation& operation) {
    for (const ir::OperandId id : operation.outputs) {
      const std::size_t rank = id.is_valid() ? plan_.facts.type_of(id).shape()->size() : 0;
      lists_.actual_dims.emplace_back(rank);
    }
  }

  Result<sluice_argument> argument(ir::OperandId id, std::size_t task) {
    if (!id.is_valid()) return backend::absent_argument();
    const plan::Place& place = plan_.placement->places[id.index()];
    switch (place.kind) {
      case plan::Place::Kind::kArena:
      case plan::Place::Kind::kBinding:
        return lists_.mirrors[task] != nullptr
                   ? lists_.mirrors[task]->argument(place)
                   : backend::bound_argument(place.binding, place.offset_bytes);
      case plan::Place::Kind::kConstant:
        return backend::fixed_argument(SLUICE_TRY(constant_address(place.operand, group_of(task))));
      case plan::Place::Kind::kNone: break;
    }
    return backend::absent_argument();
  }

  /// String constants stay in host memory: a sluice_text holds a host pointer.
  Result<const void*> constant_address(ir::OperandId id, const backend::Group& group) {
    const void* here = code_.constant_data(id);
    const ir::Constant& constant = *code_.subgraph->find_constant(id);
    const bool is_text = constant.type.element() == ir::ElementType::kString;
    if (is_text || ir::is_left_out(constant)) return here;
    const auto services = SLUICE_TRY(services_of(group));
    if (services == nullptr) return here;
    auto brought = services->constants.bring(constant.data, stop_);
    const std::string& name = code_.subgraph->operand(id).name;
    auto there = SLUICE_TRY(std::move(brought).with_context("constant \"" + name + "\""));
    lists_.constants.push_back(std::move(there));
    return lists_.constants.back().get();
  }

  /// Null for a device whose kernels read host memory. Never for one that cannot reach it.
  Result<std::shared_ptr<device::DeviceServices>> services_of(const backend::Group& group) const {
    if (model_.options.devices == nullptr) return std::shared_ptr<device::DeviceServices>();
    return model_.options.devices->of(group.shared_backend(), group.device());
  }

  const backend::Group& group_of(std::size_t task) const {
    return *model_.segments.groups[lists_.tasks[task].group];
  }

  std::size_t task_at(std::size_t at) const {
    return static_cast<std::size_t>(task_of_step_[at - plan_.range.begin]);
  }

  bool has_kernel(std::size_t at) const { return plan_.kernels[at - plan_.range.begin] != nullptr; }

  std::size_t segment_at(std::size_t at) const {
    return code_.id.index() == 0 ? model_.segments.segment_of_position[at] : 0;
  }

  std::size_t group_at(std::size_t at) const {
    return model_.segments.group_at(model_.executable, code_.id, at);
  }

  /// Without tasks of the plan, a task ends where the segment or the group changes: steps of a
  /// segment are neighbours in the main order; in a body a group may have several tasks.
  void divide_steps() {
    if (plan_.placement->tasks) {
      task_of_step_ = plan_.placement->tasks->task_of_step;
      return;
    }
    std::optional<std::size_t> previous;
    std::int32_t task = -1;
    for (std::size_t at = plan_.range.begin; at < plan_.range.end; ++at) {
      task_of_step_.push_back(-1);
      if (!has_kernel(at)) continue;
      const bool is_same = previous && segment_at(*previous) == segment_at(at) &&
                           group_at(*previous) == group_at(at);
      if (!is_same) ++task;
      task_of_step_.back() = task;
      previous = at;
    }
  }

  /// Lists of kernels name the memory of a state that stays on their device.
  Status place_states() {
    if (states_ == nullptr) return ok_status();
    for (const StatePair& pair : states_->pairs()) {
      const std::optional<std::size_t> group = group_of_state(model_, code_, plan_, pair);
      if (!group) continue;
      const auto& device = model_.segments.groups[*group];
      const auto services = SLUICE_TRY(services_of(*device));
      const KeptStates::Room room = {*group, device, &services->memory, model_.options.owner};
      auto memory = SLUICE_TRY(
          states_->place(pair.input, room, bytes_of(code_.subgraph->inputs[pair.input])));
      void* const address = memory->memory.address();
      address_of_state_[code_.numbers.input(pair.input)] = address;
      address_of_state_[code_.numbers.output(pair.output)] = address;
      lists_.states.emplace_back(pair.input, std::move(memory));
    }
    return ok_status();
  }

  /// Creates the list of each task, and its memory where its device needs some.
  Status open_tasks() {
    for (std::size_t at = plan_.range.begin; at < plan_.range.end; ++at) {
      // Tasks are numbered by their first steps.
      if (!has_kernel(at) || task_at(at) != lists_.tasks.size()) continue;
      const std::size_t task = lists_.tasks.size();
      TaskList made = SLUICE_TRY(make_list(at, task));
      const backend::Group& group = *model_.segments.groups[made.group];
      lists_.tasks.push_back(std::move(made));
      lists_.mirrors.push_back(SLUICE_TRY(make_mirror(task, at, group)));
    }
    return ok_status();
  }

  /// The group of the task that the step at `at` belongs to.
  std::size_t group_of_task(std::size_t at) const {
    if (!plan_.placement->tasks) return group_at(at);
    return static_cast<std::size_t>(plan_.placement->tasks->tasks[task_at(at)].lane);
  }

  Result<TaskList> make_list(std::size_t at, std::size_t number) const {
    const std::size_t group = group_of_task(at);
    auto list = SLUICE_TRY(backend::CommandList::create(model_.segments.groups[group]));
    const ir::Operation& first = code_.operation_at(at);
    TaskList task(std::move(list));
    task.segment = segment_at(at);
    task.group = group;
    task.is_on_host = model_.segments.is_on_host(group);
    task.placed = model_.segments.groups[group].get();
    task.stop = backend::find_stop(task.placed->backend());
    task.name = first.name.empty() ? first.kind : first.name;
    if (plan_.placement->tasks) {
      task.after = plan_.placement->tasks->tasks[number].after;
      task.rank = plan_.placement->tasks->tasks[number].rank;
    }
    return task;
  }

  /// Memory on the device of `group` for the kernels of a task, which starts at `first`; null if
  /// the device reads host memory.
  Result<std::unique_ptr<DeviceMirror>> make_mirror(std::size_t task, std::size_t first,
                                                    const backend::Group& group) {
    if (lists_.tasks[task].is_on_host) return std::unique_ptr<DeviceMirror>();
    if (readers_.empty()) find_readers();
    auto mirror = std::make_unique<DeviceMirror>();
    for (const auto& [binding, address] : address_of_state_) mirror->lie_at(binding, address);
    SLUICE_TRY(fill_mirror(task, first, group, *mirror));
    const auto services = SLUICE_TRY(services_of(group));
    const Status allocated = mirror->allocate(services->memory, model_.options.owner);
    SLUICE_TRY(allocated.with_context(code_.operation_at(first).describe() +
                                      " and the rest of its segment"));
    return mirror;
  }

  Status fill_mirror(std::size_t task, std::size_t first, const backend::Group& group,
                     DeviceMirror& mirror) const {
    for (std::size_t at = first; at < plan_.range.end; ++at) {
      if (!has_kernel(at) || task_at(at) != task) continue;
      SLUICE_TRY(add_operands(code_.operation_at(at), group, mirror));
    }
    return ok_status();
  }

  Status add_operands(const ir::Operation& operation, const backend::Group& group,
                      DeviceMirror& mirror) const {
    std::vector<ir::OperandId> operands = operation.reads();
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

  const ModelState& model_;
  const SubgraphCode& code_;
  const RangePlan& plan_;
  RecordedLists& lists_;
  const std::stop_token& stop_;
  KeptStates* states_;                              ///< may be null
  std::map<std::int32_t, void*> address_of_state_;  ///< on its device, by binding
  std::vector<sluice_argument> inputs_;     ///< of the step that is added; kept for their memory
  std::vector<sluice_argument> outputs_;    ///< likewise
  std::vector<std::int32_t> task_of_step_;  ///< by step of the range; -1 without a kernel
  std::vector<std::optional<std::size_t>> capture_list_of_;    ///< by task
  std::map<ir::OperandId, std::vector<std::size_t>> readers_;  ///< see find_readers
  std::map<ir::OperandId, std::size_t> writers_;  ///< by owner of memory: the last task so far
};

/// Outputs of the subgraph that kernels of the range write.
std::vector<WrittenOutput> written_outputs_of(const SubgraphCode& code, const RangePlan& plan) {
  const plan::BindingNumbers& numbers = code.numbers;
  std::vector<WrittenOutput> written;
  const std::size_t end = plan.range.end - (plan.range.has_executor_end ? 1 : 0);
  for (std::size_t at = plan.range.begin; at < end; ++at) {
    for (const ir::OperandId id : code.operation_at(at).outputs) {
      if (!id.is_valid()) continue;
      const plan::Place& place = plan.placement->places[id.index()];
      const bool is_output = place.kind == plan::Place::Kind::kBinding && place.operand == id &&
                             place.binding >= numbers.output(0) && place.binding < numbers.arena();
      if (!is_output) continue;
      written.push_back({static_cast<std::size_t>(place.binding - numbers.output(0)),
                         *ir::run_bytes(plan.facts.type_of(id))});
    }
  }
  return written;
}

std::vector<terms::TensorView> output_views_of(const SubgraphCode& code, const RangePlan& plan) {
  std::vector<terms::TensorView> views;
  if (plan.range.end < code.subgraph->order().size() || plan.range.has_executor_end ||
      plan.range.has_data_dependent_end) {
    return views;
  }
  views.reserve(code.subgraph->outputs.size());
  for (const ir::OperandId id : code.subgraph->outputs) {
    terms::TensorView& view = views.emplace_back();
    if (!code.is_tensor(id)) continue;
    const ir::Type& type = plan.facts.type_of(id);
    view = {nullptr, *ir::run_bytes(type), type.element(), *type.static_dims()};
  }
  return views;
}

}  // namespace

bool RecordedLists::serves(const RangePlan& other) const {
  if (!is_exchangeable || other.placement != placement || other.kernels.size() != entries.size()) {
    return false;
  }
  return std::ranges::equal(entries, other.kernels, [](const Entry& entry, const auto& kernel) {
    return (entry.task >= 0) == (kernel != nullptr);
  });
}

Status RecordedLists::take_kernels(const std::shared_ptr<const RangePlan>& wanted) {
  if (plan == wanted) return ok_status();
  const std::shared_ptr<const RangePlan> former = std::exchange(plan, nullptr);
  std::vector<std::int32_t> places;
  std::vector<std::shared_ptr<const backend::Kernel>> kernels;
  std::size_t step = 0;
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    places.clear();
    kernels.clear();
    for (; step < entries.size() && entries[step].task <= static_cast<std::int32_t>(task); ++step) {
      const auto& kernel = wanted->kernels[step];
      if (entries[step].task < 0) continue;
      if (former != nullptr && former->kernels[step] == kernel) continue;
      places.push_back(entries[step].entry);
      kernels.push_back(kernel);
    }
    if (!places.empty()) SLUICE_TRY(tasks[task].list.exchange(places, kernels));
  }
  plan = wanted;
  return ok_status();
}

void RecordedLists::count_bytes(std::int64_t* sum) {
  if (counted_in_ != nullptr) *counted_in_ -= bytes;
  counted_in_ = sum;
  if (counted_in_ != nullptr) *counted_in_ += bytes;
}

std::int64_t Recording::bytes() const {
  return static_cast<std::int64_t>(sizeof(*this) + outputs.size() * sizeof(WrittenOutput) +
                                   output_views.size() * sizeof(terms::TensorView)) +
         plan->bytes();
}

std::vector<LoadedModel::DeviceUse> LoadedModel::device_use() const {
  RecordedLists nothing;
  nothing.plan = state_->main().static_plan;
  if (nothing.plan == nullptr) return {};
  return Recorder(*state_, state_->main(), nothing, {}, nullptr).predict();
}

Result<std::shared_ptr<RecordedLists>> record_lists(const ModelState& model,
                                                    const SubgraphCode& code,
                                                    std::shared_ptr<const RangePlan> plan,
                                                    const std::stop_token& stop,
                                                    KeptStates* states) {
  auto lists = std::make_shared<RecordedLists>();
  lists->placement = plan->placement;
  lists->plan = std::move(plan);
  SLUICE_TRY(Recorder(model, code, *lists, stop, states).run());
  return lists;
}

std::unique_ptr<Recording> make_recording(const SubgraphCode& code,
                                          std::shared_ptr<const RangePlan> plan,
                                          std::shared_ptr<RecordedLists> lists) {
  auto recording = std::make_unique<Recording>();
  recording->outputs = written_outputs_of(code, *plan);
  recording->output_views = output_views_of(code, *plan);
  recording->plan = std::move(plan);
  recording->lists = std::move(lists);
  return recording;
}

}  // namespace sluice::exec
