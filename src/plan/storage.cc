#include "plan/storage.h"

#include <algorithm>

#include "base/log/work_counts.h"

namespace sluice::plan {
namespace {

/// Resolves views to the memory they alias, finds the last use of each memory, then lets results
/// overwrite operands that die in the same step.
class Assigner {
 public:
  Assigner(std::span<const Value> values, std::span<const Step> steps)
      : values_(values), steps_(steps), parent_(values.size()), last_use_(values.size(), -1) {
    for (std::size_t i = 0; i < parent_.size(); ++i) parent_[i] = static_cast<std::int32_t>(i);
  }

  StorageAssignment run() {
    // Steps are in topological order, so one pass resolves chains of views: the root of what is
    // viewed is final when the view is met.
    for (const Step& step : steps_) {
      if (step.is_view && step.reads[0] >= 0 && step.writes[0] >= 0) {
        at(parent_, step.writes[0]) = root(step.reads[0]);
      }
    }
    find_last_uses();
    for (std::size_t i = 0; i < steps_.size(); ++i) reuse_operand(static_cast<std::int32_t>(i));
    return collect();
  }

 private:
  template <typename T>
  static T& at(std::vector<T>& table, std::int32_t index) {
    return table[static_cast<std::size_t>(index)];
  }
  /// Halves the way on each call.
  std::int32_t root(std::int32_t index) {
    while (at(parent_, index) != index) {
      ++work_counts.visits;
      std::int32_t& next = at(parent_, index);
      next = at(parent_, next);
      index = next;
    }
    return index;
  }
  const Value& value(std::int32_t index) const { return values_[static_cast<std::size_t>(index)]; }

  /// A use of a view is a use of its root. A write counts too: a result that nothing reads must not
  /// share memory with another result of the same step.
  void find_last_uses() {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const auto touch = [&](std::int32_t index) {
        if (index >= 0) at(last_use_, root(index)) = static_cast<std::int32_t>(i);
      };
      std::for_each(steps_[i].reads.begin(), steps_[i].reads.end(), touch);
      std::for_each(steps_[i].writes.begin(), steps_[i].writes.end(), touch);
    }
  }

  bool is_in_arena(std::int32_t index) const { return value(index).source == Source::kArena; }

  /// Whether `step` reads `memory` through any operand but `except`.
  bool reads_elsewhere(const Step& step, std::int32_t memory, std::size_t except) {
    for (std::size_t i = 0; i < step.reads.size(); ++i) {
      if (i != except && step.reads[i] >= 0 && root(step.reads[i]) == memory) return true;
    }
    return false;
  }

  /// Lets result 0 of a step overwrite one of its operands, the first that the kernel allows, if
  /// - the result owns its memory and both lie in the arena (outputs and inputs have fixed
  /// buffers),
  /// - no later step reads the operand, nor another operand of this step with the same memory,
  /// - sizes are equal, so that the lifetime of the merged memory has one size.
  void reuse_operand(std::int32_t index) {
    const Step& step = steps_[static_cast<std::size_t>(index)];
    if (step.is_view || step.writes.empty() || step.writes[0] < 0) return;
    const std::int32_t result = root(step.writes[0]);
    if (result != step.writes[0] || !is_in_arena(result)) return;
    for (std::size_t i = 0; i < step.reads.size() && i < 32; ++i) {  // bits of in_place_reads
      if ((step.in_place_reads >> i & 1U) == 0 || step.reads[i] < 0) continue;
      const std::int32_t operand = root(step.reads[i]);
      if (!is_in_arena(operand) || at(last_use_, operand) != index) continue;
      if (value(operand).size_bytes != value(result).size_bytes) continue;
      if (reads_elsewhere(step, operand, i)) continue;
      take_over(operand, result);
      return;
    }
  }

  /// Merges two memories: every value of `result`, views included, now lives in `operand`.
  void take_over(std::int32_t operand, std::int32_t result) {
    at(last_use_, operand) = std::max(at(last_use_, operand), at(last_use_, result));
    at(parent_, result) = operand;
  }

  /// Numbers memories in the order of their first step; lifetimes grow as steps touch them.
  StorageAssignment collect() {
    StorageAssignment assignment;
    assignment.storage_of.assign(values_.size(), -1);
    std::vector<std::int32_t> storage_of_root(values_.size(), -1);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const auto touch = [&](std::int32_t index) {
        if (index < 0 || !is_in_arena(root(index))) return;
        std::int32_t& storage = at(storage_of_root, root(index));
        const auto step = static_cast<std::int32_t>(i);
        if (storage < 0) {
          storage = static_cast<std::int32_t>(assignment.lifetimes.size());
          assignment.lifetimes.push_back({step, step, value(root(index)).size_bytes});
        }
        at(assignment.lifetimes, storage).last_step = step;
        at(assignment.storage_of, index) = storage;
      };
      std::for_each(steps_[i].reads.begin(), steps_[i].reads.end(), touch);
      std::for_each(steps_[i].writes.begin(), steps_[i].writes.end(), touch);
    }
    for (std::size_t i = 0; i < parent_.size(); ++i) {
      assignment.root_of.push_back(root(static_cast<std::int32_t>(i)));
    }
    return assignment;
  }

  std::span<const Value> values_;
  std::span<const Step> steps_;
  std::vector<std::int32_t> parent_;    // towards the value whose memory it is: the root
  std::vector<std::int32_t> last_use_;  // step, of roots
};

}  // namespace

StorageAssignment assign_storage(std::span<const Value> values, std::span<const Step> steps) {
  return Assigner(values, steps).run();
}

}  // namespace sluice::plan
