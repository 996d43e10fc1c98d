#pragma once

#include "runtime/inference/driver.h"

namespace sluice::runtime {

/// A thread per core group. It polls while stages run, then sleeps until `notify`. A waiting caller
/// steps the group in place of the thread if the thread is idle, so a synchronous request runs on
/// its caller's thread without a switch. The driver moves that thread to the group's processors
/// meanwhile.
class ThreadDrivers final : public DriverSource {
 public:
  explicit ThreadDrivers(Clock& clock = system_clock()) : clock_(clock) {}

  Clock& clock() override { return clock_; }
  std::unique_ptr<Driver> drive(Steppable& machine, std::vector<std::int32_t> cpus) override;

 private:
  Clock& clock_;
};

}  // namespace sluice::runtime
