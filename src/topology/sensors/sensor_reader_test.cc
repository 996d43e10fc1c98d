#include "topology/sensors/sensor_reader.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <utility>

#include "support/paths.h"
#include "topology/testing/made_up_sysfs.h"

namespace sluice::topology {
namespace {

/// A simulated device at 10:00.0, and the fake library's first three GPUs.
DeviceMap map_with_gpus() {
  DeviceMap map;
  for (const char* address : {"0000:10:00.0", "0000:1c:00.0", "0000:1d:00.0", "0000:1e:00.0"}) {
    terms::Device device;
    device.id = terms::DeviceId(map.devices.size());
    device.kind = map.devices.empty() ? "sim" : "gpu";
    device.bus_address = address;
    map.devices.push_back(std::move(device));
  }
  return map;
}

class SensorReaderTest : public ::testing::Test {
 protected:
  SensorPlaces places() const {
    return {folder_.path(), sluice::testing::build_path("test/fake_nvml.so")};
  }

  sluice::testing::TempDir folder_;
  testing::MadeUpSysfs tree_{folder_.path()};
};

TEST_F(SensorReaderTest, GpusAskTheLibraryAndOthersSysfs) {
  tree_.set("bus/pci/devices/0000:10:00.0/hwmon/hwmon0/temp1_input", "55000");
  const auto all = SensorReader(map_with_gpus(), places()).read(0);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].temperature_c, 55);
  EXPECT_EQ(all[1].temperature_c, 40);
  EXPECT_EQ(all[1].temperature_limit_c, 95);
  EXPECT_EQ(all[1].power_w, 350.5);
  EXPECT_EQ(all[1].num_corrected_errors, 7);
  EXPECT_EQ(all[1].num_uncorrected_errors, 2);
  EXPECT_EQ(all[1].fault, "");
  EXPECT_FALSE(all[2].power_w.has_value()) << "it does not tell";
}

TEST_F(SensorReaderTest, SlowdownsByHeatAreCountedWhenTheyBegin) {
  SensorReader reader(map_with_gpus(), places());
  reader.read(0);
  const auto all = reader.read(1);
  EXPECT_EQ(all[1].num_throttles, 0) << "idle";
  EXPECT_EQ(all[2].num_throttles, 1) << "at both looks";
  EXPECT_TRUE(all[2].is_slowed);
  EXPECT_EQ(all[3].num_throttles, 0) << "for its power, not for heat";
  EXPECT_FALSE(all[1].is_slowed || all[3].is_slowed);
}

TEST_F(SensorReaderTest, LibraryStaysStartedWhereItIsMovedTo) {
  std::optional<Nvml> kept;
  {
    auto opened = Nvml::open(places().nvml_library);
    ASSERT_TRUE(opened.is_ok()) << opened.status().message();
    kept.emplace(std::move(*opened));
  }
  EXPECT_TRUE(kept->devices().is_ok()) << "what it was moved from stopped it";
}

TEST_F(SensorReaderTest, LostGpuHasAFault) {
  setenv("SLUICE_FAKE_NVML_LOST", "0", 1);
  const auto all = SensorReader(map_with_gpus(), places()).read(0);
  unsetenv("SLUICE_FAKE_NVML_LOST");
  EXPECT_EQ(all[1].fault, "GPU is lost");
  EXPECT_FALSE(all[1].temperature_c.has_value());
  EXPECT_EQ(all[2].fault, "");
}

TEST_F(SensorReaderTest, WithoutALibraryGpusAskSysfs) {
  tree_.set("bus/pci/devices/0000:1c:00.0/hwmon/hwmon0/temp1_input", "61000");
  SensorPlaces none = places();
  none.nvml_library = "libno-such-library.so.1";
  EXPECT_EQ(SensorReader(map_with_gpus(), none).read(0)[1].temperature_c, 61);
  none.nvml_library = sluice::testing::build_path("test/fake_nvml_fails.so");
  EXPECT_EQ(SensorReader(map_with_gpus(), none).read(0)[1].temperature_c, 61);
}

}  // namespace
}  // namespace sluice::topology
