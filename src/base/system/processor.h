// Placement of threads on processors.
#pragma once

#include <sched.h>

#include <cstdint>
#include <functional>
#include <span>
#include <thread>
#include <vector>

namespace sluice {

/// Starts a thread for `work` on the caller's allowed processors, except the one that the caller
/// runs on. The scheduler often starts a thread on its creator's processor even if others are idle;
/// the two then alternate in time slices of milliseconds. Without another processor, or if the
/// system refuses, the thread gets the caller's affinity. The caller's affinity does not change.
/// `work` must not throw, and lives as long as the thread. Throws std::system_error when a thread
/// cannot be started.
std::jthread start_elsewhere(std::function<void()> work);

/// Restricts the calling thread to these processors, by the system's numbers; none: no effect. Best
/// effort: a processor may be offline.
void stay_on(std::span<const std::int32_t> cpus);

/// Restricts the calling thread to these processors until the end of the scope, then gives it its
/// affinity back, also where scopes are nested. Best effort, as `stay_on`.
///
/// Without processors it costs nothing. Otherwise it costs a system call, and two more unless the
/// thread is on some of these processors alone already.
class StayOn {
 public:
  explicit StayOn(std::span<const std::int32_t> cpus) : is_moved_(!cpus.empty() && move_to(cpus)) {}
  StayOn(const StayOn&) = delete;
  StayOn& operator=(const StayOn&) = delete;
  ~StayOn() {
    if (is_moved_) move_back();
  }

 private:
  bool move_to(std::span<const std::int32_t> cpus);
  void move_back() const;

  cpu_set_t before_;  ///< set if the thread was moved
  const bool is_moved_;
};

/// The processors that the calling thread may run on, ascending. Empty if the system does not tell,
/// as on a machine of more than CPU_SETSIZE (1024).
std::vector<std::int32_t> usable_cpus();

/// The processors of the process, ascending: those that its first thread and the calling thread
/// had together at the first call, or of `set_process_cpus`. Empty as for `usable_cpus`.
///
/// Cores have numbers by their place here, so the list stays the same while others take processors
/// away from the process and give them back. A forked process makes its own.
std::vector<std::int32_t> process_cpus();

/// For a process that is told its processors. Threads keep their affinity.
void set_process_cpus(std::vector<std::int32_t> cpus);

/// Gives the calling thread all of `process_cpus` until the end of the scope, then its affinity
/// back: for code that asks the system which processors there are. Best effort.
class OnProcessCpus {
 public:
  OnProcessCpus();
  OnProcessCpus(const OnProcessCpus&) = delete;
  OnProcessCpus& operator=(const OnProcessCpus&) = delete;
  ~OnProcessCpus();

 private:
  cpu_set_t before_;
};

}  // namespace sluice
