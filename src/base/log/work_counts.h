// Counts of elementary steps, by which tests bound the cost of an algorithm without a clock.
//
// Each thread has its own counts. They only grow: a test compares two readings.
#pragma once

#include <cstdint>

namespace sluice {

struct WorkCounts {
  std::uint64_t visits = 0;            ///< operations looked at, pieces of memory compared
  std::uint64_t shape_functions = 0;   ///< types of one operation inferred
  std::uint64_t kernels = 0;           ///< kernels created
  std::uint64_t recorded_kernels = 0;  ///< kernels appended to command lists

  friend WorkCounts operator-(const WorkCounts& a, const WorkCounts& b) {
    return {a.visits - b.visits, a.shape_functions - b.shape_functions, a.kernels - b.kernels,
            a.recorded_kernels - b.recorded_kernels};
  }
};

/// The counts of this thread. In the thread's static block, so that a count costs one addition.
[[gnu::tls_model("initial-exec")]] inline thread_local constinit WorkCounts work_counts;

}  // namespace sluice
