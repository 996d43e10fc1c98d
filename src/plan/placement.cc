#include "plan/placement.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "plan/storage.h"

namespace sluice::plan {
namespace {

/// Small numbers for the operands that a range touches, in the order of their first use: what a
/// range costs then depends on its own steps, however large the subgraph is.
class Numbering {
 public:
  explicit Numbering(std::size_t num_operands) : table_(table()), stamp_(++table_.last_stamp) {
    if (table_.entries.size() < num_operands) table_.entries.resize(num_operands, {0, 0});
  }

  /// -1 for an operand that has none.
  std::int32_t find(ir::OperandId id) const {
    if (!id.is_valid()) return -1;
    const Entry& entry = table_.entries[id.index()];
    return entry.stamp == stamp_ ? entry.number : -1;
  }
  std::int32_t take(ir::OperandId id) {
    if (!id.is_valid()) return -1;
    Entry& entry = table_.entries[id.index()];
    if (entry.stamp == stamp_) return entry.number;
    entry = {stamp_, static_cast<std::int32_t>(ids_.size())};
    ids_.push_back(id);
    return entry.number;
  }
  std::span<const ir::OperandId> ids() const { return ids_; }

 private:
  struct Entry {
    std::uint64_t stamp;
    std::int32_t number;
  };
  /// A thread keeps its table, and stamps replace clearing. Numberings of a thread do not overlap
  /// in time.
  struct Table {
    std::vector<Entry> entries;
    std::uint64_t last_stamp = 0;
  };
  static Table& table() {
    static thread_local Table kept;
    return kept;
  }

  Table& table_;
  std::uint64_t stamp_;
  std::vector<ir::OperandId> ids_;
};

/// Works on roots: a chain of views shares the memory of its first operand, the root. What is
/// decided for a root (kept, output, arena offset) holds for all of its views.
class Placer {
 public:
  explicit Placer(const PlacementRequest& request)
      : request_(request),
        subgraph_(*request.subgraph),
        numbers_(binding_numbers(subgraph_)),
        local_(subgraph_.num_operands()) {}

  /// The order matters: assign_arena must know which roots leave the range (kept or outputs), and
  /// views outside the arena take the place that their root got.
  Result<Placement> run() {
    place_earlier();
    find_roots();
    find_kept();
    assign_outputs();
    SLUICE_TRY(assign_arena());
    place_views();
    placement_.places.freeze();
    return std::move(placement_);
  }

 private:
  /// What is known of an operand that the range touches.
  struct Operand {
    std::int32_t root;
    bool is_written = false;
    bool is_kept = false;        // of roots
    bool brings_memory = false;  // a result of the executor's steps
    std::int32_t output = -1;    // of roots: the output whose buffer they are
  };

  const ir::Operation& step(std::size_t place) const {
    return subgraph_.operation(subgraph_.order()[place]);
  }
  const StepTraits& traits(std::size_t place) const {
    return request_.traits[place - request_.begin];
  }
  bool is_view(std::size_t place) const { return traits(place).is_view; }
  bool is_tensor(ir::OperandId id) const { return subgraph_.operand(id).type.is_tensor(); }

  /// Null for an operand that the range does not touch.
  const Operand* find(ir::OperandId id) const {
    const std::int32_t number = local_.find(id);
    return number < 0 ? nullptr : &operands_[static_cast<std::size_t>(number)];
  }
  /// Requires: the range touches the operand.
  Operand& operand(ir::OperandId id) {
    return operands_[static_cast<std::size_t>(local_.find(id))];
  }
  Operand& root_of(ir::OperandId id) {
    return operands_[static_cast<std::size_t>(operand(id).root)];
  }
  ir::OperandId root(ir::OperandId id) {
    return local_.ids()[static_cast<std::size_t>(operand(id).root)];
  }
  void take(ir::OperandId id) {
    const std::int32_t number = local_.take(id);
    if (number == static_cast<std::int32_t>(operands_.size())) operands_.push_back({number});
  }
  void set_place(ir::OperandId id, const Place& place) { placement_.places.set(id.index(), place); }
  const Place& place(ir::OperandId id) const { return placement_.places[id.index()]; }

  /// Operands that later ranges read lie in buffers of their own (see find_kept), so nothing reads
  /// the arena places of earlier ranges.
  void place_earlier() {
    if (request_.earlier != nullptr) {
      placement_.places = *request_.earlier;
      return;
    }
    placement_.places = SharedTable<Place>(subgraph_.num_operands());
    for (std::size_t i = 0; i < subgraph_.inputs.size(); ++i) {
      const ir::OperandId id = subgraph_.inputs[i];
      set_place(id, {Place::Kind::kBinding, numbers_.input(i), 0, id});
    }
    for (std::size_t i = 0; i < subgraph_.num_operands(); ++i) {
      const ir::OperandId id(i);
      if (subgraph_.is_constant(id)) set_place(id, {Place::Kind::kConstant, -1, 0, id});
    }
  }

  void find_roots() {
    for (std::size_t at = request_.begin; at < request_.end; ++at) {
      step(at).for_each_read([&](ir::OperandId id) { take(id); });
      if (traits(at).is_random_state) {
        const ir::OperandId state = step(at).output(0);
        if (!state.is_valid()) continue;
        take(state);
        set_place(state, {Place::Kind::kBinding, numbers_.random_state(), 0, state});
        continue;
      }
      for (const ir::OperandId output : step(at).outputs) {
        if (!output.is_valid()) continue;
        take(output);
        operand(output).is_written = true;
      }
      if (is_view(at)) operand(step(at).outputs[0]).root = operand(step(at).inputs[0]).root;
    }
  }

  bool is_written_here(ir::OperandId id) const {
    const Operand* found = find(id);
    return found != nullptr && found->is_written;
  }

  /// Marks results that a later range reads: they outlive the arena, which that range reuses.
  void find_kept() {
    if (!request_.last_read.empty()) {
      for (const ir::OperandId id : local_.ids()) {
        const bool is_read = request_.last_read[id.index()] >= request_.end;
        if (is_read && is_written_here(id)) root_of(id).is_kept = true;
      }
      return;
    }
    for (std::size_t at = request_.end; at < subgraph_.order().size(); ++at) {
      step(at).for_each_read([&](ir::OperandId id) {
        if (is_written_here(id)) root_of(id).is_kept = true;
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
        // Inputs, constants and the random state count as written by the last range.
        const bool is_ready =
            place(output).kind == Place::Kind::kConstant || comes_with_run(output);
        if (is_ready && is_last_stage) placement_.copies.push_back({output, i});
        continue;
      }
      Operand& memory = root_of(output);
      if (memory.is_written && memory.output < 0) {
        memory.output = static_cast<std::int32_t>(i);
      } else {
        placement_.copies.push_back({output, i});
      }
    }
  }

  /// An input, or the random state: no step writes it.
  bool comes_with_run(ir::OperandId id) const {
    const Place& found = place(id);
    return found.kind == Place::Kind::kBinding && found.operand == id &&
           (found.binding < numbers_.output(0) || found.binding == numbers_.random_state());
  }

  Result<std::int64_t> size_of(ir::OperandId id) const {
    const ir::Type& type = request_.type_of(id);
    const auto bytes = ir::run_bytes(type);
    if (bytes) return *bytes;
    return internal_error("operand \"{}\" of type {} has no size", subgraph_.operand(id).name,
                          type.to_string());
  }

  /// With room to grow, where the request asks for it. A result that overwrites its operand grows
  /// with it, so both have room or neither.
  Result<std::int64_t> reserved_size_of(ir::OperandId id) const {
    const std::int64_t bytes = SLUICE_TRY(size_of(id));
    if (!request_.may_grow || !request_.may_grow(id)) return bytes;
    const auto padded = checked_align(bytes, kTensorAlignment);
    return checked_add(bytes, padded.value_or(0) / 4 + kTensorAlignment).value_or(bytes);
  }

  Status assign_arena() {
    std::vector<Value> values(operands_.size(), {0, Source::kExternal});
    for (std::size_t at = request_.begin; at < request_.end; ++at) {
      for (const ir::OperandId id : step(at).outputs) {
        if (!id.is_valid() || !is_tensor(id) || !is_written_here(id)) continue;
        operand(id).brings_memory = traits(at).is_executor;
        values[static_cast<std::size_t>(local_.find(id))] =
            traits(at).is_executor
                ? Value{0, Source::kOutput}
                : Value{SLUICE_TRY(reserved_size_of(id)), source_of(root_of(id))};
      }
    }
    const std::vector<Step> all = steps();
    const StorageAssignment storage = assign_storage(values, all);
    if (!request_.sites.empty()) {
      placement_.tasks = divide(all, storage, request_.sites, request_.lanes);
    }
    SLUICE_TRY(lay_out(all, storage));
    for (const Lifetime& lifetime : storage.lifetimes) {
      placement_.piece_bytes.push_back(lifetime.size_bytes);
    }
    // In the order of operands, as bindings of results are numbered and packages are written.
    std::vector<ir::OperandId> written(local_.ids().begin(), local_.ids().end());
    std::erase_if(written,
                  [&](ir::OperandId id) { return !is_written_here(id) || !is_tensor(id); });
    std::ranges::sort(written);
    for (const ir::OperandId id : written) place_result(id, storage);
    return ok_status();
  }

  void place_result(ir::OperandId id, const StorageAssignment& storage) {
    const std::int32_t piece = storage.storage_of[static_cast<std::size_t>(local_.find(id))];
    if (piece >= 0) {
      const auto offset = placement_.layout.offset_bytes[static_cast<std::size_t>(piece)];
      set_place(id, {Place::Kind::kArena, numbers_.arena(), offset, root(id), piece});
    } else if (root(id) == id) {
      set_place(id, outside_place(id));
    }
  }

  /// Only memory that is written and read within the range goes into the arena.
  static Source source_of(const Operand& memory) {
    if (!memory.is_written) return Source::kExternal;
    return memory.output >= 0 || memory.is_kept ? Source::kOutput : Source::kArena;
  }

  Place outside_place(ir::OperandId id) {
    const Operand& result = operand(id);
    if (result.output >= 0) {
      const auto output = static_cast<std::size_t>(result.output);
      return {Place::Kind::kBinding, numbers_.output(output), 0, id};
    }
    if (!result.is_kept) return {};
    if (!result.brings_memory) placement_.kept.push_back(id);
    return {Place::Kind::kBinding, numbers_.kept(id), 0, id};
  }

  std::vector<Step> steps() const {
    std::vector<Step> steps;
    for (std::size_t at = request_.begin; at < request_.end; ++at) {
      Step& made = steps.emplace_back();
      made.is_view = is_view(at);
      made.in_place_reads = traits(at).in_place_inputs;
      step(at).for_each_read([&](ir::OperandId id) { made.reads.push_back(local_.find(id)); });
      for (const ir::OperandId id : step(at).outputs) made.writes.push_back(local_.find(id));
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
      if (place(view).kind == Place::Kind::kNone) set_place(view, Place(place(root(view))));
    }
  }

  const PlacementRequest& request_;
  const ir::Subgraph& subgraph_;
  BindingNumbers numbers_;
  Numbering local_;
  std::vector<Operand> operands_;  // by local number
  Placement placement_;
};

}  // namespace

BindingNumbers binding_numbers(const ir::Subgraph& subgraph) {
  return {static_cast<std::int32_t>(subgraph.inputs.size()),
          static_cast<std::int32_t>(subgraph.outputs.size())};
}

Result<Placement> place_operands(const PlacementRequest& request) { return Placer(request).run(); }

bool fits(const Placement& placement, const ir::Operation& operation, const StepTraits& traits,
          const std::function<const ir::Type&(ir::OperandId)>& type_of) {
  const auto piece_of = [&](ir::OperandId id) {
    return id.is_valid() ? placement.places[id.index()].piece : -1;
  };
  const auto size_of = [&](ir::OperandId id) { return ir::run_bytes(type_of(id)); };
  for (const ir::OperandId id : operation.outputs) {
    const std::int32_t piece = piece_of(id);
    if (piece < 0) continue;
    const auto size = size_of(id);
    if (!size || *size > placement.piece_bytes[static_cast<std::size_t>(piece)]) return false;
  }
  const std::int32_t result = piece_of(operation.output(0));
  if (result < 0 || traits.is_view || traits.in_place_inputs == 0) return true;
  const auto has_other_size = [&](ir::OperandId id) {
    return piece_of(id) == result && size_of(id) != size_of(operation.output(0));
  };
  return std::ranges::none_of(operation.inputs, has_other_size) &&
         (!operation.body || std::ranges::none_of(operation.body->inputs, has_other_size));
}

}  // namespace sluice::plan
