// The profiled scheduler's search: earliest finish time, improved by local search.
#pragma once

#include "compile/schedule/problem.h"

namespace sluice::compile {

struct ScheduleOutcome {
  Assignment assignment;
  double makespan_ns = kCannotRun;       ///< kCannotRun if no assignment was found that fits
  std::vector<double> single_device_ns;  ///< by device; kCannotRun where it cannot run all tasks
  std::vector<std::int64_t> peak_bytes;  ///< by device
};

/// Starts from the best of: each device alone (a task that it cannot run goes to the fastest device
/// that can), and each task where the whole ends first. Then moves runs of tasks, longer ones
/// first, while a move shortens the whole; and again from random neighbours of the best, from a
/// fixed seed.
///
/// Deterministic; never worse than a device alone. Plays at most `max_plays` assignments, each
/// O(tasks + tensors * devices).
ScheduleOutcome find_assignment(const ScheduleProblem& problem, int max_plays = 20'000);

}  // namespace sluice::compile
