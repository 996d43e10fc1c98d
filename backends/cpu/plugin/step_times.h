#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sluice/extensions/step_times.h"

namespace sluice::cpu {

/// The extension "sluice.step_times/1".
extern const sluice_step_times kStepTimes;

/// When the steps of one run began and ended.
///
/// While a run is timed, the workers meet after every step, so that a step's time is that of its
/// slowest worker. Worker 0 calls `begin_run`, `begin_step` and `end_step`; the thread that runs
/// the list calls the other functions, before or after the run.
class StepTimes {
 public:
  /// True if the calling thread has set an observer.
  static bool are_observed();

  explicit StepTimes(std::size_t num_steps) : steps_(num_steps) {}

  void begin_run(int workers) { workers_ = workers; }
  void begin_step(std::size_t step);
  void end_step(std::size_t step);

  int workers() const { return workers_; }
  std::span<const sluice_step_time> steps() const { return steps_; }

  /// `kind` and `name` must stay valid until `tell_observer` returns.
  void describe(std::size_t step, const char* kind, const char* name);
  /// Calls the thread's observer. Requires: are_observed().
  void tell_observer() const;

 private:
  std::vector<sluice_step_time> steps_;
  int workers_ = 1;
};

}  // namespace sluice::cpu
