// Indices outside of their axes, which kernels of a stream met.
//
// A kernel cannot fail, so it leaves what it met in words of the device (IndexReport). A list that
// has such kernels ends with a copy of the words to the host; who waits for the stream finds them.
#pragma once

#include <mutex>
#include <span>
#include <unordered_map>

#include "plugin/device_code.h"

namespace sluice::cuda {

/// Numbers of kernels, by which their reports name them. A kernel keeps its number, so that a graph
/// may hold it. Safe across threads.
class ReportNumbers {
 public:
  /// A number above 0. `op` stays valid until `remove`.
  unsigned add(const sluice_op& op);
  void remove(unsigned number);
  /// Null if no kernel has the number.
  const sluice_op* find(unsigned number) const;

 private:
  mutable std::mutex mutex_;
  unsigned last_ = 0;
  std::unordered_map<unsigned, const sluice_op*> ops_;
};

/// Reports of one stream. Used by the thread that uses the stream. Takes memory when first needed.
class IndexReports {
 public:
  IndexReports() = default;
  IndexReports(const IndexReports&) = delete;
  IndexReports& operator=(const IndexReports&) = delete;

  /// Takes memory if there is none yet.
  /// Requires, as the functions below: the device's context is current.
  /// Fails: as the driver
  Status prepare(const Driver& driver, CuStream stream);
  /// Prepares a launch of a kernel that reports indices. `words` is its parameter.
  /// Fails: as the driver
  Status add(const Driver& driver, CuStream stream, CuDevicePointer* words);
  /// Copies the words behind the work of the stream, if launches were added since the last time.
  Status copy_back(const Driver& driver, CuStream stream);
  /// Says that a graph was launched, which has such kernels and copies the words.
  void expect() { has_launched_ = true; }
  /// What the launches met, whose work has ended. The next ones start anew.
  /// Fails: OUT_OF_RANGE  naming the operation and the index
  Status take(const Driver& driver, CuStream stream, const ReportNumbers& numbers);
  /// Frees the memory. Requires: the stream is idle.
  void release(const Driver& driver);

 private:
  CuDevicePointer words_ = 0;
  std::uint64_t* seen_ = nullptr;  // on the host, IndexReport::kNumWords
  bool has_launched_ = false;      // since `take`
  bool is_copied_ = true;
};

}  // namespace sluice::cuda
