// Divides the steps of a range into tasks that may run side by side.
//
// Pure: steps, who runs them and how long in, tasks and their order out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plan/storage.h"
#include "plan/task_order.h"

namespace sluice::plan {

/// Who runs a step.
struct StepSite {
  std::int32_t group = -1;  ///< of cores, by index; -1 where no kernel runs
  /// Neighbouring steps of the group stay in one task: tensors between them stay on its device.
  bool is_whole = false;
  double work_ns = 0;  ///< estimate, on one core
};

struct TaskGraph {
  std::vector<std::int32_t> task_of_step;  ///< -1 where no kernel runs
  std::vector<Task> tasks;                 ///< sorted by first step, hence topologically
};

/// A step depends on those that write what it reads, and on those that use memory which it
/// overwrites. Tasks are chains of steps without other dependents. Tasks that can run beside no
/// other are joined, and so are all tasks between two such where running them side by side on fewer
/// cores is not estimated to end earlier.
///
/// `lanes`: by group, the groups of fewer cores that may run tasks of the group side by side; none
/// if its tasks run one after another.
/// Returns nullopt beyond 4096 chains, which would need too much memory to order.
std::optional<TaskGraph> divide(std::span<const Step> steps, const StorageAssignment& storage,
                                std::span<const StepSite> sites,
                                std::span<const std::vector<std::int32_t>> lanes);

}  // namespace sluice::plan
