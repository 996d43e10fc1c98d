// A driver table without a driver: devices that the host stands for.
#pragma once

#include <memory>

#include "driver/driver_table.h"
#include "emulator/machine/code.h"
#include "emulator/machine/description.h"

namespace sluice::cuda::emulator {

struct Machine;

/// One emulated machine. A process has one at a time, as it has one driver: handles and current
/// contexts belong to it, and every table calls it. Move-only; the machine ends with it.
///
/// Work runs when a thread waits or asks (Scheduler), never before. A program that waits for a host
/// function by other means than the driver waits for ever.
class EmulatedDriver {
 public:
  /// `load` reads device code.
  /// Fails: FAILED_PRECONDITION  another emulated machine is in use
  ///        as CountFile::open
  static Status start(Description description, LoadCode load,
                      std::unique_ptr<EmulatedDriver>* driver);
  EmulatedDriver(const EmulatedDriver&) = delete;
  EmulatedDriver& operator=(const EmulatedDriver&) = delete;
  /// Requires: no other thread is in a call.
  ~EmulatedDriver();

  const DriverTable& table() const { return table_; }

 private:
  explicit EmulatedDriver(std::shared_ptr<Machine> machine);

  std::shared_ptr<Machine> machine_;
  DriverTable table_;
};

}  // namespace sluice::cuda::emulator
