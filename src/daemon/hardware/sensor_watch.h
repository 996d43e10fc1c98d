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
/// change of a device's health. A driver may keep a look as long as it likes: nobody waits longer
/// for one than a limit.
class SensorWatch {
 public:
  /// Limit of a look, which takes milliseconds where all is well. A negative limit is none.
  static constexpr std::int64_t kPatienceNs = 30'000'000'000;

  /// Has looked once when it returns, unless that takes longer than `patience_ns`: a warning then.
  /// `engine` and `log` outlive it.
  /// Requires: `period_ns` > 0. Fails: kResourceExhausted, without a thread.
  static Result<std::unique_ptr<SensorWatch>> start(topology::SensorReader reader,
                                                    std::int64_t period_ns, runtime::Engine& engine,
                                                    service::Log& log,
                                                    std::int64_t patience_ns = kPatienceNs);
  SensorWatch(const SensorWatch&) = delete;
  SensorWatch& operator=(const SensorWatch&) = delete;
  /// Waits for the look under way, as long as it takes: `stop` says whether it ended.
  ~SensorWatch();

  /// No look begins any more. False: the one under way has not ended after `patience_ns`.
  bool stop(std::int64_t patience_ns = kPatienceNs);

 private:
  SensorWatch(topology::SensorReader reader, std::int64_t period_ns, runtime::Engine& engine,
              service::Log& log)
      : reader_(std::move(reader)), period_ns_(period_ns), engine_(engine), log_(log) {}
  void look();
  void look_until_over();
  bool wait_for(const bool& is_so, std::int64_t patience_ns);
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
  bool is_over_ = false;     ///< no look begins any more
  bool has_looked_ = false;  ///< at least once
  bool has_ended_ = false;   ///< no look is under way, and none begins
  std::thread thread_;
};

}  // namespace sluice::daemon
