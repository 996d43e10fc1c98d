#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sluice/step_times.h"

namespace sluice::cpu {

/// The extension "sluice.step_times/1".
extern const sluice_step_times kStepTimes;

/// When the steps of one run began and ended, for the observer of the thread that submits it.
///
/// While a list is observed the workers meet after every step, so that a step's time is that of its
/// slowest worker. `begin_step` and `end_step` are called by one worker, the rest by whoever runs
/// the list.
class StepRecord {
 public:
  /// Whether the calling thread wants to be told.
  static bool is_wanted();

  explicit StepRecord(std::size_t num_steps) : steps_(num_steps) {}

  void begin_step(std::size_t step);
  void end_step(std::size_t step);

  /// `kind` and `name` are valid until `tell` returns.
  void describe(std::size_t step, const char* kind, const char* name);
  /// Calls the thread's observer.
  void tell() const;

 private:
  std::vector<sluice_step_time> steps_;
};

}  // namespace sluice::cpu
