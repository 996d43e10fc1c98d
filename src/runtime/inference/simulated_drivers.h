// Drives groups of simulated devices for clients who live in real time.
#pragma once

#include <memory>

#include "backend/virtual_time.h"
#include "runtime/inference/thread_driver.h"

namespace sluice::runtime {

/// Threads and deadlines as for hardware, by the system's clock; the simulation's time moves on as
/// fast as it can whenever a group waits for its devices. (By the simulation's own clock a thread
/// that waits for a deadline would make it pass.)
class SimulatedDrivers final : public DriverSource {
 public:
  explicit SimulatedDrivers(std::shared_ptr<backend::VirtualTime> time) : time_(std::move(time)) {}

  Clock& clock() override { return threads_.clock(); }
  std::unique_ptr<Driver> drive(Steppable& machine, std::vector<std::int32_t> cpus) override;

 private:
  std::shared_ptr<backend::VirtualTime> time_;
  ThreadDrivers threads_;
};

}  // namespace sluice::runtime
