#include "exec/range_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/log/work_counts.h"
#include "exec/executors/step_work.h"
#include "exec/in_place_outputs.h"
#include "exec/memory_scope.h"
#include "exec/model_state.h"

namespace sluice::exec {
namespace {

/// Empty tensors are common in exported models; a step that only makes such needs no kernel.
bool has_no_results(const ir::Operation& operation, const Facts& facts) {
  return std::all_of(operation.outputs.begin(), operation.outputs.end(), [&](ir::OperandId output) {
    return !output.is_valid() || ir::num_elements(*facts.type_of(output).shape()) == 0;
  });
}

std::uint32_t in_place_inputs(const backend::Kernel& kernel, const ir::Operation& operation) {
  // Operations of more than 32 inputs are variadic; those behind the 32nd are never overwritten.
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
  /// `similar` may be null.
  KernelMaker(const ModelState& model, const SubgraphCode& code, RangePlan& plan,
              const RangePlan* similar)
      : model_(model), code_(code), plan_(plan), similar_(similar) {}

  Status run() {
    plan_.kernels.reserve(plan_.range.end - plan_.range.begin);
    plan_.traits.reserve(plan_.range.end - plan_.range.begin);
    for (std::size_t at = plan_.range.begin; at < plan_.range.end; ++at) {
      const ir::Operation& operation = code_.operation_at(at);
      if (has_similar(at, operation)) {
        const std::size_t step = at - plan_.range.begin;
        plan_.kernels.push_back(similar_->kernels[step]);
        plan_.traits.push_back(similar_->traits[step]);
        ++plan_.num_reused;
      } else {
        SLUICE_TRY(add(at, operation));
      }
    }
    return ok_status();
  }

 private:
  bool is_executor_step(const StepRange& range, std::size_t at) const {
    return range.has_executor_end && at + 1 == range.end;
  }

  /// Whether the step has a kernel, or none, for the same types in the similar plan. Constants have
  /// one type.
  bool has_similar(std::size_t at, const ir::Operation& operation) const {
    if (similar_ == nullptr || at >= similar_->range.end ||
        is_executor_step(plan_.range, at) != is_executor_step(similar_->range, at)) {
      return false;
    }
    const auto has_same_type = [&](ir::OperandId id) {
      return plan_.facts.is_same(id, similar_->facts) ||
             plan_.facts.type_of(id) == similar_->facts.type_of(id);
    };
    return std::ranges::all_of(operation.inputs, has_same_type) &&
           std::ranges::all_of(operation.outputs, has_same_type) &&
           (!operation.body || std::ranges::all_of(operation.body->inputs, has_same_type));
  }

  Status add(std::size_t at, const ir::Operation& operation) {
    const bool is_executor = is_executor_step(plan_.range, at);
    const ops::OpSchema& schema = *ops::find_schema(operation.domain, operation.kind);
    const bool is_view = !is_executor && schema.has(ops::kView);
    const bool is_state = schema.has(ops::kRunState);
    // Sizes by a bound may be 0 while the kernel finds others: of [0,4] by condition, [0,2].
    const bool finds_sizes = plan_.range.has_data_dependent_end && at + 1 == plan_.range.end;
    if (is_executor || is_view || is_state ||
        (!finds_sizes && has_no_results(operation, plan_.facts))) {
      plan_.kernels.push_back(nullptr);
      plan_.traits.push_back({is_view, 0, is_executor, is_state});
      return ok_status();
    }
    if (!finds_sizes) SLUICE_TRY(check_results(operation));
    auto kernel = SLUICE_TRY(make(at, operation));
    ++work_counts.kernels;
    plan_.traits.push_back({false, in_place_inputs(*kernel, operation), false});
    plan_.kernels.push_back(std::move(kernel));
    return ok_status();
  }

  /// A kernel may make tables of the size of its results, or loop over them, when it is made. Only
  /// what no memory of the process holds is refused: an output may lie in memory of the caller,
  /// which the limit of the context leaves out.
  Status check_results(const ir::Operation& operation) const {
    const std::int64_t limit = process_memory()->limit_bytes();
    for (const ir::OperandId output : operation.outputs) {
      if (!output.is_valid()) continue;
      const auto bytes = ir::run_bytes(plan_.facts.type_of(output));
      if (!bytes || *bytes <= limit) continue;  // the plan of the arena refuses sizes past 2^63
      return make_error(Code::kResourceExhausted,
                        "{}: its result has {} bytes, and runs of this process may use {}",
                        operation.describe(), *bytes, limit);
    }
    return ok_status();
  }

  Result<std::shared_ptr<const backend::Kernel>> make(std::size_t at,
                                                      const ir::Operation& operation) const {
    // The compiler has chosen the backend. Choosing again here could move an operation between
    // runs.
    const std::int16_t number = model_.executable.backend_of[code_.id.index()][at];
    if (number < 0) {
      return unimplemented("{}: no backend was chosen for it", operation.describe());
    }
    auto op = SLUICE_TRY(make_op(at, operation));
    const auto& backend = model_.backends[static_cast<std::size_t>(number)];
    const SegmentMap& segments = model_.segments;
    const auto& group = segments.groups[segments.group_at(model_.executable, code_.id, at)];
    const ir::KernelCode* compiled = model_.executable.find_code(code_.id, at, backend->name());
    // Compiled code runs as it is: its checksum is compared before its first use.
    if (compiled != nullptr) SLUICE_TRY(verify(operation, *compiled));
    return backend::Kernel::create(backend, group->device(), std::move(op), compiled);
  }

  Status verify(const ir::Operation& operation, const ir::KernelCode& compiled) const {
    for (const ir::KernelCode::Image& image : compiled.images) {
      const auto what = fmt::format("{}: its compiled kernel", operation.describe());
      SLUICE_TRY(model_.executable.verify(image.data, what));
    }
    return ok_status();
  }

  Result<backend::Op> make_op(std::size_t at, const ir::Operation& operation) const {
    const std::size_t step = at - plan_.range.begin;
    if (similar_ != nullptr && at < similar_->range.end && similar_->kernels[step] != nullptr) {
      return similar_->kernels[step]->op().with_types(
          operation, [&](ir::OperandId id) -> const ir::Type& { return plan_.facts.type_of(id); });
    }
    backend::OpSource source{model_.executable.graph, *code_.subgraph, operation};
    source.type_of = [&](ir::OperandId id) { return plan_.facts.type_of(id); };
    source.packed = model_.packed.of(code_.id, at);
    return backend::Op::create(source);
  }

  const ModelState& model_;
  const SubgraphCode& code_;
  RangePlan& plan_;
  const RangePlan* similar_;
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

/// Each run makes new facts of inputs and of earlier results. Equal facts become the objects of the
/// similar plan, for `is_same`.
void take_equal_facts(const SubgraphCode& code, const RangePlan& similar, RangeRequest& request) {
  const auto take = [&](ir::OperandId id) {
    if (id.is_valid() && !request.facts.is_same(id, similar.facts)) {
      request.facts.take_if_equal(id, similar.facts);
    }
  };
  std::ranges::for_each(code.subgraph->inputs, take);
  if (request.begin == 0) return;
  for (std::size_t at = request.begin; at < similar.range.end; ++at) {
    code.operation_at(at).for_each_read(take);
  }
}

/// Whether the placement of a similar plan serves: the same steps, from the same places, and room
/// for those of other sizes. Tasks depend on how long steps take, so they are divided anew.
bool serves_again(const SubgraphCode& code, const RangePlan& plan, const RangeRequest& request) {
  const RangePlan* similar = request.similar.get();
  if (similar == nullptr || similar->placement->tasks || request.earlier != similar->earlier ||
      plan.range.end != similar->range.end || plan.traits != similar->traits) {
    return false;
  }
  const auto type_of = [&](ir::OperandId id) -> const ir::Type& { return plan.facts.type_of(id); };
  for (std::size_t at = plan.range.begin; at < plan.range.end; ++at) {
    const std::size_t step = at - plan.range.begin;
    const ir::Operation& operation = code.operation_at(at);
    const bool is_same = std::ranges::all_of(operation.outputs, [&](ir::OperandId id) {
      return plan.facts.is_same(id, similar->facts);
    });
    const bool is_kept = is_same && plan.kernels[step] == similar->kernels[step];
    if (!is_kept && !plan::fits(*similar->placement, operation, plan.traits[step], type_of)) {
      return false;
    }
  }
  return true;
}

Result<plan::Placement> place(const ModelState& model, const SubgraphCode& code,
                              const RangePlan& plan, const RangeRequest& from, bool has_room) {
  const std::vector<plan::StepSite> sites = sites_of(model, code, plan);
  plan::PlacementRequest request;
  request.subgraph = code.subgraph;
  request.begin = plan.range.begin;
  request.end = plan.range.end;
  request.type_of = [&](ir::OperandId id) -> const ir::Type& { return plan.facts.type_of(id); };
  if (has_room) {
    request.may_grow = [&](ir::OperandId id) {
      return !plan.facts.is_same(id, from.similar->facts);
    };
  }
  request.last_read = code.last_read;
  request.traits = plan.traits;
  if (from.earlier != nullptr) request.earlier = &from.earlier->places;
  request.sites = sites;
  request.lanes = std::span(model.segments.lanes);
  // Shapes come from inputs: the limit refuses a plan before its memory is asked for.
  request.max_arena_bytes = model.options.max_arena_bytes;
  const bool is_whole =
      request.begin == 0 && request.end == code.subgraph->order().size() && code.id.index() == 0;
  if (is_whole && model.executable.plan) request.layout = &*model.executable.plan;
  return plan::place_operands(request);
}

}  // namespace

std::size_t RunKeyHash::operator()(const RunKey& key) const {
  // Keys are dimensions, mostly small numbers: the multiplier (2^64 over the golden ratio) and the
  // shift spread them over all bits.
  std::uint64_t hash = key.size();
  for (const std::int64_t number : key) {
    hash = (hash ^ static_cast<std::uint64_t>(number)) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 32U;
  }
  return static_cast<std::size_t>(hash);
}

/// More than a quarter of the kernels came from the similar plan: the two differ in few shapes.
bool RangePlan::is_variation() const { return 4 * num_reused > kernels.size(); }

std::int64_t RangePlan::bytes() const {
  // An estimate: plug-ins report no size of a kernel. Facts and places share their parts with
  // similar plans, so a quarter of them counts.
  constexpr std::int64_t kKernelBytes = 8192;  // with its operation and packed parameters
  constexpr std::int64_t kFactsBytes = 192;
  const std::size_t num_steps = kernels.size() - num_reused;
  return static_cast<std::int64_t>(sizeof(*this) + facts.bytes_beside({}) / 4 +
                                   placement->places.bytes_beside({}) / 4 +
                                   kernels.size() * (sizeof(kernels[0]) + sizeof(traits[0]))) +
         static_cast<std::int64_t>(num_steps) * (kKernelBytes + kFactsBytes);
}

Result<std::shared_ptr<RangePlan>> make_range_plan(const ModelState& model,
                                                   const SubgraphCode& code, RangeRequest request) {
  std::optional<SimilarRange> similar;
  if (request.similar != nullptr) {
    similar.emplace(SimilarRange{request.similar->range, request.similar->facts});
    take_equal_facts(code, *request.similar, request);
  }
  StepRange range = SLUICE_TRY(plan_range(model.executable.graph, *code.subgraph, request.begin,
                                          request.facts, similar ? &*similar : nullptr));
  return prepare_range(model, code, std::move(range), std::move(request));
}

Result<std::shared_ptr<RangePlan>> prepare_range(const ModelState& model, const SubgraphCode& code,
                                                 StepRange range, RangeRequest request) {
  auto plan = std::make_shared<RangePlan>();
  plan->facts = std::move(request.facts);
  plan->facts.freeze();
  plan->range = std::move(range);
  plan->earlier = request.earlier;
  SLUICE_TRY(KernelMaker(model, code, *plan, request.similar.get()).run());
  if (serves_again(code, *plan, request)) {
    plan->placement = request.similar->placement;
  } else {
    // Where few shapes differ from those before, they are mostly those of a past that grows on.
    const bool has_room = plan->is_variation();
    auto placed = place(model, code, *plan, request, has_room);
    if (!placed.is_ok() && has_room) placed = place(model, code, *plan, request, false);
    plan->placement = std::make_shared<const plan::Placement>(SLUICE_TRY(std::move(placed)));
  }
  // Side by side, a task may still read the input when another writes the output.
  if (!plan->placement->tasks) plan->in_place_outputs = find_in_place_outputs(code, *plan);
  return plan;
}

}  // namespace sluice::exec
