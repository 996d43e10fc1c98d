#include "daemon/hardware/sensor_watch.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "base/file.h"
#include "runtime/inference/thread_driver.h"
#include "runtime/statistics/group_statistics.h"
#include "runtime/testing/engine_testing.h"
#include "support/eventually.h"
#include "support/paths.h"
#include "topology/testing/made_up_sysfs.h"

namespace sluice::daemon {
namespace {

using ::sluice::testing::eventually;
using ::testing::HasSubstr;

constexpr std::int64_t kForEver = -1;

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
  bool has(std::string_view event) const { return text().find(event) != std::string::npos; }

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
  const auto watch = SensorWatch::start(std::move(reader), 1'000'000, engine, log, kForEver);
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
  EXPECT_TRUE(eventually([&] { return log.has("device.well device=0 was=failed"); }));
}

/// A file that keeps its reader until the test lets it go, as a driver does that waits for its
/// hardware.
class KeptSensor {
 public:
  explicit KeptSensor(std::filesystem::path path) : path_(std::move(path)) {
    EXPECT_EQ(mkfifo(path_.c_str(), 0600), 0);
  }
  /// Returns when a reader is kept.
  void wait_for_reader() {
    EXPECT_TRUE(eventually([&] {
      writer_.emplace(open(path_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
      return writer_->get() >= 0;
    }));
  }
  /// The reader gets nothing, later ones this text. Requires: a reader is kept.
  void let_go(const std::string& text) {
    const std::filesystem::path next = path_.string() + ".next";
    std::ofstream(next) << text << '\n';
    std::filesystem::rename(next, path_);
    writer_.reset();
  }

 private:
  const std::filesystem::path path_;
  std::optional<FileDescriptor> writer_;
};

TEST(SensorWatch, LookThatTakesForEverKeepsNeitherStartNorEnd) {
  const sluice::testing::TempDir folder;
  const topology::testing::MadeUpSysfs tree(folder.path());
  tree.set("class/hwmon/hwmon0/name", "k10temp");
  tree.set("class/hwmon/hwmon0/temp1_crit", "100000");
  KeptSensor sensor(folder.path() / "class/hwmon/hwmon0/temp1_input");
  runtime::ThreadDrivers drivers;
  const topology::DeviceMap map = runtime::testing::pretended_cpu_map(4);
  runtime::testing::TestEngine engine(runtime::testing::registry(), drivers, {map});
  KeptLog log;
  topology::SensorReader reader(map, {folder.path(), "libno-such-library.so.1"});
  const auto watch = SensorWatch::start(std::move(reader), 1'000'000, engine, log, 0);
  ASSERT_TRUE(watch.is_ok());
  EXPECT_THAT(log.text(), HasSubstr("sensors.late"));
  EXPECT_EQ(engine.num_free_cores(), 4);
  sensor.wait_for_reader();
  EXPECT_FALSE((*watch)->stop(0)) << "the look goes on";
  sensor.let_go("50000");
  EXPECT_TRUE((*watch)->stop(kForEver)) << "it has ended";
}

TEST(SensorWatch, LateLookCounts) {
  const sluice::testing::TempDir folder;
  const topology::testing::MadeUpSysfs tree(folder.path());
  tree.set("class/hwmon/hwmon0/name", "k10temp");
  tree.set("class/hwmon/hwmon0/temp1_crit", "100000");
  KeptSensor sensor(folder.path() / "class/hwmon/hwmon0/temp1_input");
  runtime::ThreadDrivers drivers;
  const topology::DeviceMap map = runtime::testing::pretended_cpu_map(4);
  runtime::testing::TestEngine engine(runtime::testing::registry(), drivers, {map});
  KeptLog log;
  topology::SensorReader reader(map, {folder.path(), "libno-such-library.so.1"});
  const auto watch = SensorWatch::start(std::move(reader), 1'000'000, engine, log, 0);
  ASSERT_TRUE(watch.is_ok());
  sensor.wait_for_reader();
  sensor.let_go("101000");
  EXPECT_TRUE(eventually([&] { return log.has("device.withdrawn device=0 "); }));
  EXPECT_EQ(engine.num_free_cores(), 0);
}

}  // namespace
}  // namespace sluice::daemon
