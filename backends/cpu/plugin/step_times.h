#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plugin/kernel.h"

namespace sluice::cpu {

/// "Conv+Relu": the operation and what is fused into it.
std::string full_kind(const sluice_op& op);

/// How long each step of a command list takes: what SLUICE_CPU_STEP_TIMES=FILE asks for.
///
/// While it is on, the workers meet after every step, so that a step's time is that of its slowest
/// worker; a run takes a little longer than without. When the list goes, a line of JSON per step is
/// appended to FILE: {"list":…,"step":…,"op":"Conv+Relu","name":…,"workers":…,"inputs":[[dims],…],
/// "outputs":[…],"bytes":…,"runs":…,"median_ns":…,"least_ns":…}. `bytes` are those of all operands,
/// each counted once: what the step moves at least.
///
/// Used by worker 0 of one list.
class StepTimes {
 public:
  /// Null unless the environment asks for it. Reads the environment once.
  static std::unique_ptr<StepTimes> create_if_wanted();

  explicit StepTimes(std::string path);
  ~StepTimes();  ///< appends to the file
  StepTimes(const StepTimes&) = delete;
  StepTimes& operator=(const StepTimes&) = delete;

  void add_step(const sluice_op& op);
  void add_copy(std::int64_t size_bytes);

  void begin_run(int workers);
  void end_step(std::size_t step);

 private:
  struct Step {
    std::string description;  ///< the members of the JSON object that are known beforehand
    std::vector<float> nanoseconds;
  };

  std::string lines() const;

  std::string path_;
  int list_;  ///< counts the lists of the process
  int workers_ = 1;
  std::int64_t before_ns_ = 0;
  std::vector<Step> steps_;
};

}  // namespace sluice::cpu
