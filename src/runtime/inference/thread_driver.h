#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "runtime/inference/driver.h"

namespace sluice::runtime {

/// A thread per core group. It polls while stages run, then sleeps until `notify`. A waiting caller
/// steps the group in place of the thread if the thread is idle, so a synchronous request runs on
/// its caller's thread without a switch. The driver moves that thread to the group's processors
/// meanwhile. A machine with several places has as many threads, and a caller takes the place of
/// one.
class ThreadDrivers final : public DriverSource {
 public:
  explicit ThreadDrivers(Clock& clock = system_clock()) : clock_(clock) {}

  Clock& clock() override { return clock_; }
  std::unique_ptr<Driver> drive(Steppable& machine, std::vector<std::int32_t> cpus) override {
    return drive(machine, std::move(cpus), 1);
  }
  /// For a machine whose `step` may be called by so many threads at a time. If a step leaves work,
  /// its result says `is_running`: a thread that found none may sleep.
  /// Requires: num_places >= 1.
  std::unique_ptr<Driver> drive(Steppable& machine, std::vector<std::int32_t> cpus,
                                std::int32_t num_places);
  std::unique_ptr<Driver> drive_by_callers(Steppable& machine) override;

 private:
  Clock& clock_;
};

}  // namespace sluice::runtime
