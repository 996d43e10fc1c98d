#pragma once

#include <condition_variable>
#include <mutex>

#include "runtime/inference/driver.h"

namespace sluice::runtime {

/// Has no threads: a waiting caller steps every group of this source, and waits on the clock for
/// the next deadline if no group moved. Waiting on the clock of a simulation triggers its next
/// event, so the same calls give the same results every time. One thread steps at a time; other
/// callers wait for it.
class ManualDrivers final : public DriverSource {
 public:
  /// `clock` outlives this, this outlives its drivers.
  explicit ManualDrivers(Clock& clock) : clock_(clock) {}

  Clock& clock() override { return clock_; }
  std::unique_ptr<Driver> drive(Steppable& machine, std::vector<std::int32_t> cpus) override;
  std::unique_ptr<Driver> drive_by_callers(Steppable& machine) override {
    return drive(machine, {});
  }

  /// Steps every group once, without waiting.
  StepResult step_all();
  /// Steps until `is_done` or the deadline; returns `is_done()`.
  bool wait(const std::function<bool()>& is_done, std::int64_t deadline_ns);

 private:
  friend class ManualDriver;
  void wake();

  Clock& clock_;
  std::recursive_mutex mutex_;  ///< held while stepping; an on_done may destroy a driver
  std::vector<Steppable*> machines_;
  std::mutex wake_mutex_;
  std::condition_variable wake_;
  std::uint64_t wakes_ = 0;
};

}  // namespace sluice::runtime
