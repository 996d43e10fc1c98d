#include "runtime/inference/simulated_drivers.h"

#include <utility>

namespace sluice::runtime {
namespace {

/// Steps the machine; triggers the next event of the devices if the machine only waits for them.
class Advancing final : public Steppable {
 public:
  Advancing(Steppable& machine, std::shared_ptr<backend::VirtualTime> time)
      : machine_(machine), time_(std::move(time)) {}

  StepResult step(std::int64_t now_ns) override {
    const StepResult result = machine_.step(now_ns);
    if (!result.is_running || result.has_moved) return result;
    const std::int64_t next_ns = time_->next_event_ns();
    if (next_ns != kNoDeadline) time_->advance_to(next_ns);
    return result;
  }

 private:
  Steppable& machine_;
  const std::shared_ptr<backend::VirtualTime> time_;
};

class SimulatedDriver final : public Driver {
 public:
  /// `drive` makes the driver of a machine in real time.
  template <typename Drive>
  SimulatedDriver(Steppable& machine, std::shared_ptr<backend::VirtualTime> time,
                  const Drive& drive)
      : machine_(machine, std::move(time)), driver_(drive(machine_)) {}

  void notify() override { driver_->notify(); }
  void announce() override { driver_->announce(); }
  bool wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) override {
    return driver_->wait(is_done, deadline_ns);
  }

 private:
  Advancing machine_;
  std::unique_ptr<Driver> driver_;  ///< last: it steps the machine
};

}  // namespace

std::unique_ptr<Driver> SimulatedDrivers::drive(Steppable& machine,
                                                std::vector<std::int32_t> cpus) {
  return std::make_unique<SimulatedDriver>(machine, time_, [&](Steppable& advancing) {
    return threads_.drive(advancing, std::move(cpus));
  });
}

std::unique_ptr<Driver> SimulatedDrivers::drive_by_callers(Steppable& machine) {
  return std::make_unique<SimulatedDriver>(
      machine, time_, [&](Steppable& advancing) { return threads_.drive_by_callers(advancing); });
}

}  // namespace sluice::runtime
