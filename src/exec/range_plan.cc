#include "exec/range_plan.h"

#include <algorithm>
#include <utility>

#include "exec/executors/step_work.h"
#include "exec/in_place_outputs.h"
#include "exec/model_state.h"

namespace sluice::exec {
namespace {

bool has_no_results(const ir::Operation& operation, const ops::SubgraphFacts& facts) {
  return std::all_of(operation.outputs.begin(), operation.outputs.end(), [&](ir::OperandId output) {
    return !output.is_valid() || ir::num_elements(*facts[output.index()].type.shape()) == 0;
  });
}

std::uint32_t in_place_inputs(const backend::Kernel& kernel, const ir::Operation& operation) {
  std::uint32_t mask = 0;
  const std::size_t count =
      operation.inputs.size() + (operation.body ? operation.body->inputs.size() : 0);
  for (std::size_t i = 0; i < std::min<std::size_t>(count, 32); ++i) {
    if (kernel.may_overwrite(static_cast<int>(i))) mask |= std::uint32_t{1} << i;
  }
  return mask;
}

/// Creates the kernels of one range, and collects the traits of its steps that placement needs.
class KernelMaker {
 public:
  KernelMaker(const ModelState& model, const SubgraphCode& code, RangePlan& plan)
      : model_(model), code_(code), plan_(plan) {}

  Result<std::vector<plan::StepTraits>> run() {
    std::vector<plan::StepTraits> traits;
    for (std::size_t at = plan_.range.begin; at < plan_.range.end; ++at) {
      const ir::Operation& operation = code_.operation_at(at);
      const bool is_executor = plan_.range.has_executor_end && at + 1 == plan_.range.end;
      const bool is_view =
          !is_executor && ops::find_schema(operation.domain, operation.kind)->has(ops::kView);
      if (is_executor || is_view || has_no_results(operation, plan_.facts)) {
        plan_.kernels.push_back(nullptr);
        traits.push_back({is_view, 0, is_executor});
        continue;
      }
      auto kernel = SLUICE_TRY(make(at, operation));
      traits.push_back({false, in_place_inputs(*kernel, operation), false});
      plan_.kernels.push_back(std::move(kernel));
    }
    return traits;
  }

 private:
  Result<std::shared_ptr<const backend::Kernel>> make(std::size_t at,
                                                      const ir::Operation& operation) const {
    const std::int16_t number = model_.executable.backend_of[code_.id.index()][at];
    if (number < 0) {
      return unimplemented("{}: no backend was chosen for it", operation.describe());
    }
    backend::OpSource source{model_.executable.graph, *code_.subgraph, operation};
    source.type_of = [&](ir::OperandId id) { return plan_.facts[id.index()].type; };
    source.packed = model_.packed.of(code_.id, at);
    auto op = SLUICE_TRY(backend::Op::create(source));
    const auto index = static_cast<std::size_t>(number);
    const SegmentMap& segments = model_.segments;
    const auto& group = segments.groups[segments.group_at(model_.executable, code_.id, at)];
    return backend::Kernel::create(model_.backends[index], group->device(), std::move(op));
  }

  const ModelState& model_;
  const SubgraphCode& code_;
  RangePlan& plan_;
};

/// Who runs each step; none where steps run one after another.
std::vector<plan::StepSite> sites_of(const ModelState& model, const SubgraphCode& code,
                                     const RangePlan& plan) {
  std::vector<plan::StepSite> sites;
  if (model.executor == ExecutorKind::kLinear) return sites;
  for (std::size_t at = plan.range.begin; at < plan.range.end; ++at) {
    plan::StepSite& site = sites.emplace_back();
    if (plan.kernels[at - plan.range.begin] == nullptr) continue;
    const std::size_t group = model.segments.group_at(model.executable, code.id, at);
    site = {static_cast<std::int32_t>(group), !model.segments.is_on_host(group),
            estimate_work(code.operation_at(at), plan.facts)};
  }
  return sites;
}

}  // namespace

Result<std::shared_ptr<const RangePlan>> make_range_plan(const ModelState& model,
                                                         const SubgraphCode& code,
                                                         std::size_t begin,
                                                         ops::SubgraphFacts facts,
                                                         std::span<const plan::Place> earlier) {
  StepRange range = SLUICE_TRY(plan_range(model.executable.graph, *code.subgraph, begin, facts));
  return prepare_range(model, code, std::move(range), std::move(facts), earlier);
}

Result<std::shared_ptr<const RangePlan>> prepare_range(const ModelState& model,
                                                       const SubgraphCode& code, StepRange range,
                                                       ops::SubgraphFacts facts,
                                                       std::span<const plan::Place> earlier) {
  auto plan = std::make_shared<RangePlan>();
  plan->facts = std::move(facts);
  plan->range = std::move(range);
  const auto traits = SLUICE_TRY(KernelMaker(model, code, *plan).run());

  const std::vector<plan::StepSite> sites = sites_of(model, code, *plan);
  std::vector<ir::Type> types;
  for (const ops::OperandFacts& operand : plan->facts) types.push_back(operand.type);
  plan::PlacementRequest request;
  request.subgraph = code.subgraph;
  request.begin = plan->range.begin;
  request.end = plan->range.end;
  request.types = types;
  request.traits = traits;
  request.earlier = earlier;
  request.sites = sites;
  request.lanes = std::span(model.segments.lanes);
  request.max_arena_bytes = model.options.max_arena_bytes;
  const bool is_whole =
      request.begin == 0 && request.end == code.subgraph->order().size() && code.id.index() == 0;
  if (is_whole && model.executable.plan) request.layout = &*model.executable.plan;
  plan->placement = SLUICE_TRY(plan::place_operands(request));
  // Side by side, a task may still read the input when another writes the output.
  if (!plan->placement.tasks) plan->in_place_outputs = find_in_place_outputs(code, *plan);
  return std::shared_ptr<const RangePlan>(std::move(plan));
}

}  // namespace sluice::exec
