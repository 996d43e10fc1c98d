#include "daemon/hardware/sensor_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "runtime/inference/thread_driver.h"
#include "runtime/testing/engine_testing.h"
#include "support/eventually.h"
#include "support/paths.h"
#include "topology/testing/made_up_sysfs.h"

namespace sluice::daemon {
namespace {

using ::sluice::testing::eventually;
using ::testing::HasSubstr;

/// Keeps what is written.
class KeptLog final : public service::Log {
 public:
  bool is_wanted(service::LogLevel /*level*/) const override { return true; }
  void write(service::LogLevel /*level*/, std::string_view event) override {
    const std::lock_guard lock(mutex_);
    text_ += std::string(event) + "\n";
  }
  service::LogLevel level() const override { return service::LogLevel::kInfo; }
  void set_level(service::LogLevel /*level*/) override {}
  std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

TEST(SensorWatch, HotDeviceGetsNoGroupUntilItIsCooler) {
  const sluice::testing::TempDir folder;
  const topology::testing::MadeUpSysfs tree(folder.path());
  const auto heat = [&](const char* text) { tree.set("class/hwmon/hwmon0/temp1_input", text); };
  tree.set("class/hwmon/hwmon0/name", "k10temp");
  tree.set("class/hwmon/hwmon0/temp1_crit", "100000");
  heat("101000");
  runtime::ThreadDrivers drivers;
  const topology::DeviceMap map = runtime::testing::pretended_cpu_map(4);
  runtime::testing::TestEngine engine(runtime::testing::registry(), drivers, {map});
  KeptLog log;
  topology::SensorReader reader(map, {folder.path(), "libno-such-library.so.1"});
  const auto watch = SensorWatch::start(std::move(reader), 1'000'000, engine, log);
  ASSERT_TRUE(watch.is_ok());
  EXPECT_THAT(log.text(), HasSubstr("device.withdrawn device=0 "));
  EXPECT_THAT(log.text(), HasSubstr("it is at 101 °C, its limit is 100 °C"));
  EXPECT_EQ(engine.num_free_cores(), 0);
  const auto refused = engine.create_group({.num_cores = 1});
  EXPECT_THAT(refused.status().message(), HasSubstr("gets no new group: it is at 101 °C"));
  EXPECT_FALSE(engine.report_devices()[0].is_placeable);
  EXPECT_EQ(engine.report_devices()[0].health.state, terms::HealthState::kFailed);
  heat("50000");
  EXPECT_TRUE(eventually([&] { return engine.create_group({.num_cores = 1}).is_ok(); }));
  EXPECT_TRUE(eventually([&] { return engine.report_devices()[0].sensors.temperature_c == 50; }));
  EXPECT_THAT(log.text(), HasSubstr("device.well device=0 was=failed"));
}

}  // namespace
}  // namespace sluice::daemon
