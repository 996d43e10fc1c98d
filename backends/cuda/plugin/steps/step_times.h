// The time of each command of a list, by events of the driver, for a thread that asks.
#pragma once

#include <span>
#include <vector>

#include "driver/driver_table.h"
#include "sluice/extensions/step_times.h"
#include "sluice/host_backend.hpp"

namespace sluice::cuda {

/// The extension "sluice.step_times/1".
extern const sluice_step_times kStepTimes;

/// Whether the calling thread has set an observer.
bool are_steps_observed();

/// Events in a stream: one before the first command of a list, and one behind each.
class StepMarks {
 public:
  /// `driver` outlives it.
  explicit StepMarks(const DriverTable& driver);
  StepMarks(const StepMarks&) = delete;
  StepMarks& operator=(const StepMarks&) = delete;
  ~StepMarks();

  /// Requires: the context of the stream's device is current.
  CuResult add(CuStream stream);
  /// Waits for the stream, and tells the thread's observer the time of each command. Behind a
  /// failure it tells nothing.
  /// Requires: as `add`; are_steps_observed(); there is a mark more than there are commands.
  CuResult tell(CuStream stream, std::span<const plugin::detail::Command> commands) const;

 private:
  const DriverTable& driver_;
  std::int64_t start_ns_;
  std::vector<CuEvent> events_;
};

}  // namespace sluice::cuda
