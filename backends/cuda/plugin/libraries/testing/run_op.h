// Runs one operation on a backend, with numbers for tests.
#pragma once

#include <vector>

#include "plugin/backend.h"
#include "plugin/libraries/testing/numbers.h"

namespace sluice::cuda::testing {

struct RunResult {
  Status status;
  std::vector<float> output;
  std::string library;     ///< that computed it; "" for generated kernels alone
  bool has_tail = false;   ///< a generated kernel ran behind the library
  float microseconds = 0;  ///< of one of `repeats` runs in a row, as the device's events tell
};

/// Makes the kernel and runs it on device 0 with `inputs`: the operation's, then its body's.
RunResult run_op(Backend& backend, Group& group, const sluice_op& op,
                 const std::vector<std::vector<float>>& inputs, int repeats = 1);
/// As above, with some numbers.
RunResult run_op(Backend& backend, Group& group, const sluice_op& op, int repeats = 1);

/// Runs another kernel for the operation than the backend would make, unconfined.
RunResult run_source(Backend& backend, Group& group, const sluice_op& op, const Source& source,
                     const std::vector<std::vector<float>>& inputs);

}  // namespace sluice::cuda::testing
