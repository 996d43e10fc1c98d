// What a process has of the system, and limits of it.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace sluice::testing {

/// Figures of one moment: a test waits until they are what it expects (`eventually`), because a
/// process closes descriptors and unmaps memory behind its answers.
struct ProcessFigures {
  std::int64_t num_fds = 0;
  std::int64_t num_mappings = 0;
  std::int64_t num_shared = 0;  ///< of those, memory that clients and workers share
  std::int64_t num_threads = 0;
  std::int64_t num_children = 0;
};

/// The processors that this process may use. A test that needs several skips itself without them.
std::vector<int> usable_processors();

/// From /proc; all 0 if the process does not exist.
ProcessFigures figures_of(pid_t process);

/// The value of a line of /proc/PID/status; empty without the process or the line.
std::string status_of(pid_t process, const std::string& key);

/// The threads of a process by number.
std::set<pid_t> threads_of(pid_t process);

/// The state of a thread or process, as /proc/PID/task/TID/stat shows it: R, S, T, Z; 0 without it.
char state_of(pid_t process, pid_t thread);

/// Limits the memory that a process has for itself, writable and not shared, to what it has now and
/// `more_bytes`, for as long as this lives. An allocation beyond the limit fails: so a test proves
/// that a copy is not made without measuring resident memory. No limit under a sanitizer, which has
/// memory of its own.
class MemoryLimit {
 public:
  MemoryLimit(pid_t process, std::int64_t more_bytes);
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;
  ~MemoryLimit();

 private:
  pid_t process_;
  rlimit before_ = {};
};

/// Sends SIGSTOP and waits until every thread of the process has stopped; kill(2) returns earlier.
/// False if there is no such process. scripts/stress-tests does not wake it.
bool suspend(pid_t process);

/// Sends SIGKILL to `process` if it is a child of `parent`; whether it was.
bool kill_child(pid_t parent, pid_t process);

}  // namespace sluice::testing
