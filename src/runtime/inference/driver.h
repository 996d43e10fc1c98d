// Who turns the wheel of a core group's scheduler: threads of its own, or whoever waits.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/clock.h"

namespace sluice::runtime {

/// What a scheduler achieved in a step.
struct StepResult {
  bool has_moved = false;                       ///< something was started, completed or answered
  bool is_running = false;                      ///< a stage is running: ask again soon
  std::int64_t next_deadline_ns = kNoDeadline;  ///< look again then, whatever happens
};

/// A single-threaded state machine: what may start now, what has completed?
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
  /// Joins its threads. Requires: nobody is inside `wait`.
  virtual ~Driver() = default;

  /// There may be something to do.
  virtual void notify() = 0;
  /// Something that somebody may wait for has happened. Called from within a step or outside.
  virtual void announce() = 0;
  /// Returns when `is_done`, which is looked at after every `announce`, or at `deadline_ns`;
  /// whether it is done. The caller's thread may be put to work.
  virtual bool wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) = 0;
};

/// Makes a driver for each core group. All drivers of a source use one clock.
class DriverSource {
 public:
  DriverSource() = default;
  DriverSource(const DriverSource&) = delete;
  DriverSource& operator=(const DriverSource&) = delete;
  virtual ~DriverSource() = default;

  virtual Clock& clock() = 0;
  /// `machine` outlives the driver. A thread of the driver's own stays on `cpus`; empty: anywhere.
  virtual std::unique_ptr<Driver> drive(Steppable& machine, std::vector<std::int32_t> cpus) = 0;
};

}  // namespace sluice::runtime
