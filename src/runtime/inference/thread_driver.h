#pragma once

#include "runtime/inference/driver.h"

namespace sluice::runtime {

/// A thread per core group. It polls while work is running, a little while more when there is none,
/// then sleeps until it is notified. A caller that waits takes the thread's place if it can, so
/// that a synchronous request is computed on the thread that asked for it: on the group's
/// processors, where the caller is moved for as long as it drives.
class ThreadDrivers final : public DriverSource {
 public:
  explicit ThreadDrivers(Clock& clock = system_clock()) : clock_(clock) {}

  Clock& clock() override { return clock_; }
  std::unique_ptr<Driver> drive(Steppable& machine, std::vector<std::int32_t> cpus) override;

 private:
  Clock& clock_;
};

}  // namespace sluice::runtime
