// What a process has of the system, for tests that look for leaks.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace sluice::testing {

/// From /proc; all 0 if there is no such process.
struct ProcessFigures {
  std::int64_t num_fds = 0;
  std::int64_t num_mappings = 0;
  std::int64_t num_threads = 0;
  std::int64_t memory_kb = 0;  ///< resident
};

ProcessFigures figures_of(pid_t process);

}  // namespace sluice::testing
