// Indices outside of their axes, which kernels of a stream met.
//
// A kernel cannot fail, so it leaves what it met in words of the device (IndexReport). A list that
// has such kernels ends with a copy of the words to the host; who waits for the stream finds them.
#pragma once

#include <span>
#include <vector>

#include "plugin/device_code.h"

namespace sluice::cuda {

/// Of one stream. Used by the thread that uses the stream. Takes memory when first needed.
class IndexReports {
 public:
  IndexReports() = default;
  IndexReports(const IndexReports&) = delete;
  IndexReports& operator=(const IndexReports&) = delete;

  /// Prepares a launch of a kernel that reports indices. `words` and `launch` are its parameters.
  /// `op` stays valid until `take`.
  /// Requires, as the functions below: the device's context is current.
  /// Fails: as the driver
  Status add(const Driver& driver, CuStream stream, const sluice_op& op, CuDevicePointer* words,
             unsigned* launch);
  /// Copies the words behind the work of the stream, if launches were added since the last time.
  Status copy_back(const Driver& driver, CuStream stream);
  /// What the launches met, whose work has ended. The next ones start anew.
  /// Fails: OUT_OF_RANGE  naming the operation and the index
  Status take(const Driver& driver, CuStream stream);
  /// Frees the memory. Requires: the stream is idle.
  void release(const Driver& driver);

 private:
  CuDevicePointer words_ = 0;
  std::uint64_t* seen_ = nullptr;      // on the host, IndexReport::kNumWords
  std::vector<const sluice_op*> ops_;  // launch number n is of ops_[n - 1]
  bool is_copied_ = true;
};

}  // namespace sluice::cuda
