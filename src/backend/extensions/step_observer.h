// Run times of the steps of command lists, from plug-ins that report them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/backend.h"

namespace sluice::backend {

/// A kernel or copy that has run.
struct StepTime {
  std::string kind;  ///< "Conv+Relu", "copy"
  std::string name;  ///< of the operation; may be empty
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
};

/// While it lives, the steps of lists that this thread submits to the backend are added to `steps`,
/// which outlives it, in the order in which they run; times are those of `system_clock()`. Nothing
/// happens where the plug-in lacks the extension "sluice.step_times/1".
/// Lives and dies on one thread, one at a time for each backend.
class StepObserver {
 public:
  StepObserver(const Backend& backend, std::vector<StepTime>& steps);
  ~StepObserver();
  StepObserver(const StepObserver&) = delete;
  StepObserver& operator=(const StepObserver&) = delete;

 private:
  const Backend& backend_;
  const void* table_ = nullptr;  ///< a sluice_step_times; null: the plug-in cannot tell
};

}  // namespace sluice::backend
