#include "daemon/hardware/sensor_watch.h"

#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/process/start_thread.h"

namespace sluice::daemon {

using terms::HealthState;

Result<std::unique_ptr<SensorWatch>> SensorWatch::start(topology::SensorReader reader,
                                                        std::int64_t period_ns,
                                                        runtime::Engine& engine,
                                                        service::Log& log) {
  std::unique_ptr<SensorWatch> watch(new SensorWatch(std::move(reader), period_ns, engine, log));
  watch->look();
  watch->thread_ = SLUICE_TRY(start_thread([self = watch.get()] { self->look_until_over(); }));
  return watch;
}

SensorWatch::~SensorWatch() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void SensorWatch::look_until_over() {
  std::unique_lock lock(mutex_);
  while (!is_over_) {
    const std::int64_t next_ns = system_clock().now_ns() + period_ns_;
    while (!is_over_ && system_clock().now_ns() < next_ns) {
      system_clock().wait_until(lock, changed_, next_ns);
    }
    if (is_over_) return;
    lock.unlock();
    look();
    lock.lock();
  }
}

void SensorWatch::look() {
  const std::int64_t now_ns = system_clock().now_ns();
  const std::vector<terms::Sensors> all = reader_.read(now_ns);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const terms::Device& device = reader_.map().devices[i];
    Watched& watched = devices_[device.id];
    terms::Health now = watched.judge.judge(all[i], now_ns);
    tell(device, watched.health, now);
    engine_.set_condition(device.id, {all[i], now});
    watched.health = std::move(now);
  }
}

void SensorWatch::tell(const terms::Device& device, const terms::Health& before,
                       const terms::Health& now) {
  if (now.state == before.state) return;
  if (now.state == HealthState::kHealthy) {
    log_.add(service::LogLevel::kInfo, "device.well device={} was={}", device.id.value(),
             terms::health_name(before.state));
    return;
  }
  const bool has_failed = now.state == HealthState::kFailed;
  log_.add(has_failed ? service::LogLevel::kError : service::LogLevel::kWarning,
           "device.{} device={} address={} reason={} action={}", has_failed ? "withdrawn" : "slow",
           device.id.value(), service::in_quotes(device.bus_address),
           service::in_quotes(now.reason), service::in_quotes(now.action));
}

}  // namespace sluice::daemon
