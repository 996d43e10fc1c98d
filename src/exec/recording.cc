#include "exec/recording.h"

#include <utility>

#include "exec/model_state.h"

namespace sluice::exec {
namespace {

class Recorder {
 public:
  Recorder(const ModelState& model, const Program& program, Recording& recording,
           const std::stop_token& stop)
      : model_(model),
        program_(program),
        plan_(*recording.plan),
        recording_(recording),
        stop_(stop) {}

  Status run() {
    const Stage& stage = plan_.stage;
    for (std::size_t at = stage.begin; at < stage.end; ++at) {
      find_outputs(at);
      if (plan_.kernels[at - stage.begin] != nullptr) SLUICE_TRY(add_step(at));
    }
    for (Segment& segment : recording_.segments) SLUICE_TRY(segment.list.finish());
    return ok_status();
  }

 private:
  bool is_executor_step(std::size_t at) const {
    return plan_.stage.has_executor_end && at + 1 == plan_.stage.end;
  }

  void find_outputs(std::size_t at) {
    if (is_executor_step(at)) return;
    const plan::BindingNumbers& numbers = program_.numbers;
    for (const ir::OperandId id : program_.operation_at(at).outputs) {
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
    const ir::Operation& operation = program_.operation_at(at);
    const bool is_data_dependent = plan_.stage.has_data_dependent_end && at + 1 == plan_.stage.end;
    if (is_data_dependent) prepare_actual_dims(operation);
    Segment& segment = *SLUICE_TRY(segment_for(at));
    const backend::Group& group = *model_.segments.groups[segment.group];
    std::vector<sluice_argument> inputs;
    for (const ir::OperandId id : operation.inputs) {
      inputs.push_back(SLUICE_TRY(argument(id, group)));
    }
    if (operation.body) {
      for (const ir::OperandId id : operation.body->inputs) {
        inputs.push_back(SLUICE_TRY(argument(id, group)));
      }
    }
    std::vector<sluice_argument> outputs;
    for (std::size_t i = 0; i < operation.outputs.size(); ++i) {
      outputs.push_back(SLUICE_TRY(argument(operation.outputs[i], group)));
      if (is_data_dependent) outputs.back().actual_dims = recording_.actual_dims[i].data();
      if (holds_strings(operation.outputs[i])) outputs.back().texts = program_.numbers.texts();
    }
    return segment.list.add_kernel(plan_.kernels[at - plan_.stage.begin], inputs, outputs);
  }

  bool holds_strings(ir::OperandId id) const {
    return id.is_valid() && plan_.facts[id.index()].type.element() == ir::ElementType::kString;
  }

  void prepare_actual_dims(const ir::Operation& operation) {
    for (const ir::OperandId id : operation.outputs) {
      recording_.actual_dims.push_back(id.is_valid() ? *plan_.facts[id.index()].type.static_dims()
                                                     : std::vector<std::int64_t>());
    }
  }

  Result<sluice_argument> argument(ir::OperandId id, const backend::Group& group) {
    if (!id.is_valid()) return backend::absent_argument();
    const plan::Place& place = plan_.placement.places[id.index()];
    switch (place.kind) {
      case plan::Place::Kind::kArena:
      case plan::Place::Kind::kBinding:
        return backend::bound_argument(place.binding, place.offset_bytes);
      case plan::Place::Kind::kConstant:
        return backend::fixed_argument(SLUICE_TRY(constant_address(place.operand, group)));
      case plan::Place::Kind::kNone: break;
    }
    return backend::absent_argument();
  }

  /// Texts point into the host's memory: they stay there.
  Result<const void*> constant_address(ir::OperandId id, const backend::Group& group) {
    const void* here = program_.constant_data(id);
    const ir::Constant& constant = *program_.subgraph->find_constant(id);
    const bool is_text = constant.type.element() == ir::ElementType::kString;
    if (!model_.options.bring_constant || is_text) return here;
    auto brought = model_.options.bring_constant(group, constant.data, stop_);
    const std::string& name = program_.subgraph->operand(id).name;
    auto there = SLUICE_TRY(std::move(brought).with_context("constant \"" + name + "\""));
    if (there == nullptr) return here;
    recording_.constants.push_back(std::move(there));
    return recording_.constants.back().get();
  }

  Result<Segment*> segment_for(std::size_t at) {
    const std::size_t group = model_.segments.group_at(model_.executable, program_.id, at);
    const bool is_main = program_.id.index() == 0;
    const std::size_t index = is_main ? model_.segments.index_of_place[at] : group;
    if (recording_.segments.empty() || recording_.segments.back().index != index) {
      auto list = SLUICE_TRY(backend::CommandList::create(model_.segments.groups[group]));
      recording_.segments.push_back({index, group, std::move(list)});
    }
    return &recording_.segments.back();
  }

  const ModelState& model_;
  const Program& program_;
  const StagePlan& plan_;
  Recording& recording_;
  const std::stop_token& stop_;
};

}  // namespace

Result<std::unique_ptr<Recording>> record(const ModelState& model, const Program& program,
                                          std::shared_ptr<const StagePlan> plan,
                                          const std::stop_token& stop) {
  auto recording = std::make_unique<Recording>();
  recording->plan = std::move(plan);
  SLUICE_TRY(Recorder(model, program, *recording, stop).run());
  return recording;
}

}  // namespace sluice::exec
