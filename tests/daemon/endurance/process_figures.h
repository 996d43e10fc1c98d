// What a process has of the system, for tests that look for leaks.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace sluice::testing {

/// From /proc; all 0 if the process does not exist.
struct ProcessFigures {
  std::int64_t num_fds = 0;
  std::int64_t num_mappings = 0;
  std::int64_t num_threads = 0;
  std::int64_t memory_kb = 0;  ///< resident
  std::int64_t shared_kb = 0;  ///< of that, shared memory
  std::int64_t num_children = 0;
};

ProcessFigures figures_of(pid_t process);

/// Sends SIGKILL to `process` if it is a child of `parent`; whether it was.
bool kill_child(pid_t parent, pid_t process);

}  // namespace sluice::testing
