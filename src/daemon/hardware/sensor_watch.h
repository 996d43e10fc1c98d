// Keeps an eye on the hardware of the daemon's devices.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "base/result.h"
#include "runtime/engine.h"
#include "service/log.h"
#include "topology/sensors/hardware_health.h"
#include "topology/sensors/sensor_reader.h"

namespace sluice::daemon {

/// Looks at the sensors on a thread of its own, tells the engine what it finds, and logs each
/// change of a device's health.
class SensorWatch {
 public:
  /// Has looked once when it returns. `engine` and `log` outlive it.
  /// Requires: `period_ns` > 0. Fails: kResourceExhausted, without a thread.
  static Result<std::unique_ptr<SensorWatch>> start(topology::SensorReader reader,
                                                    std::int64_t period_ns, runtime::Engine& engine,
                                                    service::Log& log);
  SensorWatch(const SensorWatch&) = delete;
  SensorWatch& operator=(const SensorWatch&) = delete;
  ~SensorWatch();

 private:
  SensorWatch(topology::SensorReader reader, std::int64_t period_ns, runtime::Engine& engine,
              service::Log& log)
      : reader_(std::move(reader)), period_ns_(period_ns), engine_(engine), log_(log) {}
  void look();
  void look_until_over();
  void tell(const terms::Device& device, const terms::Health& before, const terms::Health& now);

  struct Watched {
    topology::HardwareHealth judge;
    terms::Health health;
  };

  topology::SensorReader reader_;
  const std::int64_t period_ns_;
  runtime::Engine& engine_;
  service::Log& log_;
  std::map<terms::DeviceId, Watched> devices_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace sluice::daemon
