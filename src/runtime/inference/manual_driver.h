#pragma once

#include <condition_variable>
#include <mutex>

#include "runtime/inference/driver.h"

namespace sluice::runtime {

/// No threads: whoever waits steps every group of this source and, when nothing moves, waits on the
/// clock for the next deadline. With the clock of a simulation that lets its next event happen, so
/// that the same calls give the same run every time. One thread drives at a time; the others wait
/// for it.
class ManualDrivers final : public DriverSource {
 public:
  /// `clock` outlives this, this outlives its drivers.
  explicit ManualDrivers(Clock& clock) : clock_(clock) {}

  Clock& clock() override { return clock_; }
  std::unique_ptr<Driver> drive(Steppable& machine, std::vector<std::int32_t> cpus) override;

  /// Steps every group once, without waiting.
  StepResult step_all();
  /// Until `is_done` or the deadline; whether it is done.
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
