// Runs the scheduler of a core group, on a thread of its own or on threads of waiting callers.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/clock.h"

namespace sluice::runtime {

/// The result of one step of a scheduler.
struct StepResult {
  bool has_moved = false;                       ///< a request was started, completed or answered
  bool is_running = false;                      ///< a stage is to be polled: step again soon
  std::int64_t next_deadline_ns = kNoDeadline;  ///< step again at this time at the latest
  std::int64_t longest_stage_ns = 0;            ///< of those that ended in this step; 0: none did
};

/// A single-threaded state machine: a step starts and completes what it can.
class Steppable {
 public:
  Steppable() = default;
  Steppable(const Steppable&) = delete;
  Steppable& operator=(const Steppable&) = delete;
  virtual ~Steppable() = default;
  /// By one thread at a time.
  virtual StepResult step(std::int64_t now_ns) = 0;
};

/// Drives one Steppable. Safe from any thread.
class Driver {
 public:
  Driver() = default;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  /// Joins its threads. Requires: no thread is in `wait`.
  virtual ~Driver() = default;

  /// A step may find work now.
  virtual void notify() = 0;
  /// The condition of a waiting caller may have become true. Called inside or outside a step.
  virtual void announce() = 0;
  /// Waits until `is_done` or `deadline_ns`; returns `is_done()`. Evaluates it after every
  /// `announce`. May run steps on the caller's thread.
  virtual bool wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) = 0;

  /// Whether the machine may have threads of its own beside the stepping one. Otherwise all of its
  /// work happens in steps.
  virtual bool has_threads() const { return false; }
  /// For such a thread, after its work: steps on the caller's thread until nothing moves or, soon
  /// after, `is_wanted`. If another thread steps, as `notify`.
  virtual void assist(const std::function<bool()>& /*is_wanted*/) { notify(); }
};

/// Makes a driver for each core group. All drivers of a source use one clock.
class DriverSource {
 public:
  DriverSource() = default;
  DriverSource(const DriverSource&) = delete;
  DriverSource& operator=(const DriverSource&) = delete;
  virtual ~DriverSource() = default;

  virtual Clock& clock() = 0;
  /// `machine` outlives the driver. `cpus`: affinity of the driver's thread; empty: no affinity.
  virtual std::unique_ptr<Driver> drive(Steppable& machine, std::vector<std::int32_t> cpus) = 0;
  /// A driver without a thread: the machine moves only while a caller waits.
  virtual std::unique_ptr<Driver> drive_by_callers(Steppable& machine) = 0;
};

}  // namespace sluice::runtime
