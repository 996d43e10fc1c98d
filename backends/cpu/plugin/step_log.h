#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plugin/kernel.h"
#include "plugin/step_times.h"

namespace sluice::cpu {

/// "Conv+Relu": the operation and what is fused into it.
std::string full_kind(const sluice_op& op);

/// Writes how long each step of a command list takes, for the environment variable
/// SLUICE_CPU_STEP_TIMES=FILE.
///
/// The destructor appends a line of JSON per step to FILE: {"list":...,"step":...,
/// "op":"Conv+Relu","name":...,"workers":...,"inputs":[[dims],...],"outputs":[...],"bytes":...,
/// "runs":...,"median_ns":...,"least_ns":...}. `bytes` is the size of all operands, each counted
/// once: the least that the step moves. Used by one thread at a time.
class StepLog {
 public:
  /// Null if the variable is not set. Reads the environment once.
  static std::unique_ptr<StepLog> create_if_wanted();

  explicit StepLog(std::string path);
  ~StepLog();  ///< appends to the file; a file that cannot be written is ignored
  StepLog(const StepLog&) = delete;
  StepLog& operator=(const StepLog&) = delete;

  void add_step(const sluice_op& op);
  void add_copy(std::int64_t size_bytes);

  /// `times` has one entry per step added.
  void add_run(const StepTimes& times);

 private:
  struct Step {
    std::string description;  ///< the members of the JSON object that are known beforehand
    std::vector<float> nanoseconds;
  };

  std::string lines() const;

  std::string path_;
  int list_;  ///< number of this list in the process
  int workers_ = 1;
  std::vector<Step> steps_;
};

}  // namespace sluice::cpu
