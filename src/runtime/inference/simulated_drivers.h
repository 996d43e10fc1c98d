// Drivers of simulated devices for clients in real time.
#pragma once

#include <memory>

#include "backend/extensions/virtual_time.h"
#include "runtime/inference/thread_driver.h"

namespace sluice::runtime {

/// Threads and deadlines use the system's clock, as for hardware. Virtual time advances at once
/// when a group waits for its devices. (Deadlines cannot use virtual time: a thread that waits for
/// one would advance the time past it.)
class SimulatedDrivers final : public DriverSource {
 public:
  explicit SimulatedDrivers(std::shared_ptr<backend::VirtualTime> time) : time_(std::move(time)) {}

  Clock& clock() override { return threads_.clock(); }
  std::unique_ptr<Driver> drive(Steppable& machine, std::vector<std::int32_t> cpus) override;
  std::unique_ptr<Driver> drive_by_callers(Steppable& machine) override;

 private:
  std::shared_ptr<backend::VirtualTime> time_;
  ThreadDrivers threads_;
};

}  // namespace sluice::runtime
