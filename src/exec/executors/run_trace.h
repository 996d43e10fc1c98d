// When each command list of a run started and ended, on which device, with the times of its steps.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backend/extensions/step_observer.h"

namespace sluice::exec {

struct ListTime {
  std::string name;  ///< of its first operation
  std::string backend;
  int device = 0;
  std::size_t stream = 0;     ///< one per group of cores
  std::int64_t start_ns = 0;  ///< of `system_clock()`: submission
  std::int64_t end_ns = 0;    ///< when the executor learnt of the end
  /// Kernels and copies, if the backend tells (sluice/extensions/step_times.h).
  std::vector<backend::StepTime> steps;
};

/// Collects the lists of the runs of a context. Safe across threads.
class RunTrace {
 public:
  void add(ListTime list) {
    const std::lock_guard lock(mutex_);
    lists_.push_back(std::move(list));
  }
  /// The lists collected since the last call, in the order in which they ended.
  std::vector<ListTime> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(lists_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<ListTime> lists_;
};

}  // namespace sluice::exec
