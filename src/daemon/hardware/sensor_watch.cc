#include "daemon/hardware/sensor_watch.h"

#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/process/start_thread.h"
#include "base/process/with_lock.h"

namespace sluice::daemon {

using terms::HealthState;

Result<std::unique_ptr<SensorWatch>> SensorWatch::start(topology::SensorReader reader,
                                                        std::int64_t period_ns,
                                                        runtime::Engine& engine, service::Log& log,
                                                        std::int64_t patience_ns) {
  std::unique_ptr<SensorWatch> watch(new SensorWatch(std::move(reader), period_ns, engine, log));
  watch->thread_ = SLUICE_TRY(start_thread([self = watch.get()] { self->look_until_over(); }));
  if (!watch->wait_for(watch->has_looked_, patience_ns)) {
    log.add(
        service::LogLevel::kWarning, "sensors.late waited_s={} reason={}",
        patience_ns / 1'000'000'000,
        service::in_quotes("a driver does not answer; until it does, devices count as healthy"));
  }
  return watch;
}

SensorWatch::~SensorWatch() {
  stop(0);
  if (thread_.joinable()) thread_.join();
}

bool SensorWatch::stop(std::int64_t patience_ns) {
  with_lock(mutex_, [&] { is_over_ = true; });
  changed_.notify_all();
  return !thread_.joinable() || wait_for(has_ended_, patience_ns);
}

/// Returns `is_so`, a member under `mutex_`, when it is true or the time is over.
bool SensorWatch::wait_for(const bool& is_so, std::int64_t patience_ns) {
  const std::int64_t end_ns = deadline_after(system_clock(), patience_ns);
  std::unique_lock lock(mutex_);
  while (!is_so && system_clock().now_ns() < end_ns) {
    system_clock().wait_until(lock, changed_, end_ns);
  }
  return is_so;
}

/// Without the mutex during a look, which may last.
void SensorWatch::look_until_over() {
  std::unique_lock lock(mutex_);
  while (!is_over_) {
    lock.unlock();
    look();
    lock.lock();
    has_looked_ = true;
    changed_.notify_all();
    const std::int64_t next_ns = system_clock().now_ns() + period_ns_;
    while (!is_over_ && system_clock().now_ns() < next_ns) {
      system_clock().wait_until(lock, changed_, next_ns);
    }
  }
  has_ended_ = true;
  changed_.notify_all();
}

void SensorWatch::look() {
  const std::int64_t now_ns = system_clock().now_ns();
  const std::vector<terms::Sensors> all = reader_.read(now_ns);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const terms::Device& device = reader_.map().devices[i];
    Watched& watched = devices_[device.id];
    terms::Health now = watched.judge.judge(all[i], now_ns);
    // Whoever reads in the log that a device is withdrawn, or well, finds it so.
    engine_.set_condition(device.id, {all[i], now});
    tell(device, watched.health, now);
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
