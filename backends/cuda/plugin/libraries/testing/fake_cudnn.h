// A library that looks like cuDNN. It runs graphs of convolutions on the host, through a driver's
// copies, plainly from what their descriptors say.
#pragma once

#include <vector>

#include "driver/driver_table.h"
#include "plugin/libraries/cudnn_types.h"

namespace sluice::cuda::testing {

/// What a test tells the fake, and what it saw. One per process.
struct FakeCudnn {
  const DriverTable* driver = nullptr;  ///< whose memory the tensors lie in
  std::size_t version = 91900;
  std::size_t max_operations = 4;            ///< of a graph for which there is an engine
  DnnStatus execute = DnnStatus::kSuccess;   ///< of every run
  std::vector<DnnNumericalNote> notes = {};  ///< of the first of two engines

  int num_runs = 0;
  int num_handles = 0;       ///< open ones
  int num_descriptors = 0;   ///< open ones
  std::int64_t engine = -1;  ///< that ran last: 0 or 1
};

/// The type of the function `sluice_fake_cudnn` of the library.
using GetFakeCudnn = FakeCudnn* (*)();

}  // namespace sluice::cuda::testing
