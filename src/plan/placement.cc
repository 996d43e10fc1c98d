#include "plan/placement.h"

#include <algorithm>
#include <utility>

#include "plan/storage.h"

namespace sluice::plan {
namespace {

/// Works on roots: a chain of views shares the memory of its first operand, the root. What is
/// decided for a root (kept, output, arena offset) holds for all of its views.
class Placer {
 public:
  explicit Placer(const PlacementRequest& request)
      : request_(request),
        subgraph_(*request.subgraph),
        numbers_(binding_numbers(subgraph_)),
        root_(subgraph_.num_operands()),
        is_written_(subgraph_.num_operands(), false),
        is_kept_(subgraph_.num_operands(), false),
        brings_memory_(subgraph_.num_operands(), false),
        output_of_(subgraph_.num_operands(), -1) {
    placement_.places.resize(subgraph_.num_operands());
    std::copy(request.earlier.begin(), request.earlier.end(), placement_.places.begin());
    // The arena is reused by every range. Operands that later ranges read were placed in buffers of
    // their own (see find_kept), so arena places of earlier ranges are dead now.
    for (Place& place : placement_.places) {
      if (place.kind == Place::Kind::kArena) place = {};
    }
  }

  /// The order matters: assign_arena must know which roots leave the range (kept or outputs), and
  /// views outside the arena take the place that their root got.
  Result<Placement> run() {
    place_inputs_and_constants();
    find_roots();
    find_kept();
    assign_outputs();
    SLUICE_TRY(assign_arena());
    place_views();
    return std::move(placement_);
  }

 private:
  const ir::Operation& step(std::size_t place) const {
    return subgraph_.operation(subgraph_.order()[place]);
  }
  const StepTraits& traits(std::size_t place) const {
    return request_.traits[place - request_.begin];
  }
  bool is_view(std::size_t place) const { return traits(place).is_view; }
  bool is_tensor(ir::OperandId id) const { return subgraph_.operand(id).type.is_tensor(); }
  ir::OperandId& root(ir::OperandId id) { return root_[id.index()]; }
  Place& place(ir::OperandId id) { return placement_.places[id.index()]; }

  template <typename Visit>
  void for_each_read(std::size_t at, const Visit& visit) const {
    const ir::Operation& operation = step(at);
    for (const ir::OperandId id : operation.inputs) visit(id);
    if (!operation.body) return;
    for (const ir::OperandId id : operation.body->inputs) visit(id);
  }

  void place_inputs_and_constants() {
    for (std::size_t i = 0; i < subgraph_.inputs.size(); ++i) {
      place(subgraph_.inputs[i]) = {Place::Kind::kBinding, numbers_.input(i), 0,
                                    subgraph_.inputs[i]};
    }
    for (std::size_t i = 0; i < subgraph_.num_operands(); ++i) {
      const ir::OperandId id(i);
      root(id) = id;
      if (subgraph_.is_constant(id)) place(id) = {Place::Kind::kConstant, -1, 0, id};
    }
  }

  void find_roots() {
    for (std::size_t at = request_.begin; at < request_.end; ++at) {
      for (const ir::OperandId output : step(at).outputs) {
        if (output.is_valid()) is_written_[output.index()] = true;
      }
      if (is_view(at)) root(step(at).outputs[0]) = root(step(at).inputs[0]);
    }
  }

  bool is_written_here(ir::OperandId id) const { return is_written_[id.index()]; }

  /// Marks results that a later range reads: they outlive the arena, which that range reuses.
  void find_kept() {
    for (std::size_t at = request_.end; at < subgraph_.order().size(); ++at) {
      for_each_read(at, [&](ir::OperandId id) {
        if (id.is_valid() && is_written_here(id)) is_kept_[root(id).index()] = true;
      });
    }
  }

  /// A result that leaves the graph is written straight into its output buffer, the first of them.
  /// Other outputs of the same memory, and outputs that no step writes, are copied.
  void assign_outputs() {
    for (std::size_t i = 0; i < subgraph_.outputs.size(); ++i) {
      const ir::OperandId output = subgraph_.outputs[i];
      if (!is_tensor(output)) continue;
      const bool is_last_stage = request_.end == subgraph_.order().size();
      if (!is_written_here(output)) {
        // Inputs and constants count as written by the last range.
        const bool is_ready = place(output).kind == Place::Kind::kConstant || is_input(output);
        if (is_ready && is_last_stage) placement_.copies.push_back({output, i});
        continue;
      }
      const ir::OperandId memory = root(output);
      if (is_written_here(memory) && output_of_[memory.index()] < 0) {
        output_of_[memory.index()] = static_cast<std::int32_t>(i);
      } else {
        placement_.copies.push_back({output, i});
      }
    }
  }

  bool is_input(ir::OperandId id) const {
    return std::find(subgraph_.inputs.begin(), subgraph_.inputs.end(), id) !=
           subgraph_.inputs.end();
  }

  Result<std::int64_t> size_of(ir::OperandId id) const {
    const auto bytes = ir::run_bytes(request_.types[id.index()]);
    if (bytes) return *bytes;
    return internal_error("operand \"{}\" of type {} has no size", subgraph_.operand(id).name,
                          request_.types[id.index()].to_string());
  }

  Status assign_arena() {
    std::vector<Value> values(subgraph_.num_operands(), {0, Source::kExternal});
    for (std::size_t at = request_.begin; at < request_.end; ++at) {
      for (const ir::OperandId id : step(at).outputs) {
        if (!id.is_valid() || !is_tensor(id)) continue;
        brings_memory_[id.index()] = traits(at).is_executor;
        values[id.index()] = traits(at).is_executor
                                 ? Value{0, Source::kOutput}
                                 : Value{SLUICE_TRY(size_of(id)), source_of(root(id))};
      }
    }
    const std::vector<Step> all = steps();
    const StorageAssignment storage = assign_storage(values, all);
    if (!request_.sites.empty()) {
      placement_.tasks = divide(all, storage, request_.sites, request_.lanes);
    }
    SLUICE_TRY(lay_out(all, storage));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const ir::OperandId id(i);
      if (!is_written_here(id) || !is_tensor(id)) continue;
      const std::int32_t number = storage.storage_of[i];
      if (number >= 0) {
        const auto offset = placement_.layout.offset_bytes[static_cast<std::size_t>(number)];
        place(id) = {Place::Kind::kArena, numbers_.arena(), offset, root(id)};
      } else if (root(id) == id) {
        place(id) = outside_place(id);
      }
    }
    return ok_status();
  }

  /// Only memory that is written and read within the range goes into the arena.
  Source source_of(ir::OperandId memory) const {
    if (!is_written_here(memory)) return Source::kExternal;
    const bool leaves = output_of_[memory.index()] >= 0 || is_kept_[memory.index()];
    return leaves ? Source::kOutput : Source::kArena;
  }

  Place outside_place(ir::OperandId id) {
    if (output_of_[id.index()] >= 0) {
      const auto output = static_cast<std::size_t>(output_of_[id.index()]);
      return {Place::Kind::kBinding, numbers_.output(output), 0, id};
    }
    if (!is_kept_[id.index()]) return {};
    if (!brings_memory_[id.index()]) placement_.kept.push_back(id);
    return {Place::Kind::kBinding, numbers_.kept(id), 0, id};
  }

  std::vector<Step> steps() const {
    std::vector<Step> steps;
    for (std::size_t at = request_.begin; at < request_.end; ++at) {
      Step step_of_plan;
      step_of_plan.is_view = is_view(at);
      step_of_plan.in_place_reads = traits(at).in_place_inputs;
      for_each_read(at, [&](ir::OperandId id) { step_of_plan.reads.push_back(id.value()); });
      for (const ir::OperandId id : step(at).outputs) step_of_plan.writes.push_back(id.value());
      steps.push_back(std::move(step_of_plan));
    }
    return steps;
  }

  /// By piece of the arena: the steps with kernels, and those of the executor, that use it.
  std::vector<std::vector<Touch>> touches_of(const std::vector<Step>& all,
                                             const StorageAssignment& storage) const {
    std::vector<std::vector<Touch>> touches(storage.lifetimes.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::int32_t task = placement_.tasks->task_of_step[i];
      const bool is_executor = request_.traits[i].is_executor;
      if (task < 0 && !is_executor) continue;
      for (const auto* values : {&all[i].reads, &all[i].writes}) {
        for (const std::int32_t value : *values) {
          if (value < 0) continue;
          const std::int32_t piece = storage.storage_of[static_cast<std::size_t>(value)];
          if (piece < 0) continue;
          touches[static_cast<std::size_t>(piece)].push_back(
              {is_executor ? kAfterAllTasks : task, static_cast<std::int32_t>(i)});
        }
      }
    }
    return touches;
  }

  /// Uses the package's layout if it is valid for these lifetimes. It is invalid for other shapes
  /// than the compiled ones, if kernels write in place that did not at compile time, and if tasks
  /// run side by side that did not.
  Status lay_out(const std::vector<Step>& all, const StorageAssignment& storage) {
    PackRequest pack{storage.lifetimes, kTensorAlignment, request_.max_arena_bytes};
    std::optional<Conflicts> conflicts;
    if (placement_.tasks) {
      const TaskOrder order(placement_.tasks->tasks);
      conflicts.emplace(storage.lifetimes, touches_of(all, storage), order);
      pack.conflicts = &*conflicts;
    }
    const bool is_kept = request_.layout != nullptr && check_arena(pack, *request_.layout).is_ok();
    placement_.layout = is_kept ? *request_.layout : SLUICE_TRY(pack_arena(pack));
    placement_.lower_bound_bytes = arena_lower_bound(storage.lifetimes, kTensorAlignment);
    return ok_status();
  }

  /// Views of memory outside the arena: inputs, constants, outputs, kept operands.
  void place_views() {
    for (std::size_t at = request_.begin; at < request_.end; ++at) {
      if (!is_view(at)) continue;
      const ir::OperandId view = step(at).outputs[0];
      if (place(view).kind == Place::Kind::kNone) place(view) = place(root(view));
    }
  }

  const PlacementRequest& request_;
  const ir::Subgraph& subgraph_;
  BindingNumbers numbers_;
  std::vector<ir::OperandId> root_;
  std::vector<bool> is_written_;
  std::vector<bool> is_kept_;            // of roots
  std::vector<bool> brings_memory_;      // results of the executor's steps
  std::vector<std::int32_t> output_of_;  // of roots: the output whose buffer they are
  Placement placement_;
};

}  // namespace

BindingNumbers binding_numbers(const ir::Subgraph& subgraph) {
  return {static_cast<std::int32_t>(subgraph.inputs.size()),
          static_cast<std::int32_t>(subgraph.outputs.size())};
}

Result<Placement> place_operands(const PlacementRequest& request) { return Placer(request).run(); }

}  // namespace sluice::plan
