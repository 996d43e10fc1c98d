#include "topology/sensors/sysfs_sensors.h"

#include <gtest/gtest.h>

#include "support/paths.h"
#include "topology/testing/made_up_sysfs.h"

namespace sluice::topology {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

/// Processors 0 to 3 in package 0, 4 to 7 in package 1; two threads to a core.
class SysfsSensorsTest : public ::testing::Test {
 protected:
  SysfsSensorsTest() {
    for (int cpu = 0; cpu < 8; ++cpu) {
      tree_.set(cpu_file(cpu, "topology/physical_package_id"), cpu < 4 ? "0" : "1");
    }
  }

  static std::string cpu_file(int cpu, const std::string& name) {
    return "devices/system/cpu/cpu" + std::to_string(cpu) + "/" + name;
  }
  static terms::Device package(int number) {
    terms::Device device;
    device.id = terms::DeviceId(number);
    device.kind = terms::kCpuKind;
    device.numa_node = number;
    const int first = 4 * number;
    device.cpus = {{first, first + 1}, {first + 2, first + 3}};
    return device;
  }
  terms::Sensors read(const terms::Device& device, std::int64_t now_ns = kSecondNs) {
    return sensors_.read(device, now_ns);
  }

  sluice::testing::TempDir folder_;
  testing::MadeUpSysfs tree_{folder_.path()};
  SysfsSensors sensors_{folder_.path()};
};

TEST_F(SysfsSensorsTest, EmptyTreeTellsNothing) {
  EXPECT_EQ(read(package(0)), terms::Sensors());
  EXPECT_EQ(SysfsSensors("/no/such/folder").read(package(0), 0), terms::Sensors());
}

TEST_F(SysfsSensorsTest, IntelsPackageHasItsOwnTemperatureAndLimit) {
  for (const char* package : {"0", "1"}) {
    const std::string hwmon = std::string("class/hwmon/hwmon") + package + "/";
    tree_.set(hwmon + "name", "coretemp");
    tree_.set(hwmon + "temp1_label", std::string("Package id ") + package);
    tree_.set(hwmon + "temp1_input", *package == '0' ? "71000" : "45500");
    tree_.set(hwmon + "temp1_crit", "100000");
    tree_.set(hwmon + "temp2_label", "Core 0");
    tree_.set(hwmon + "temp2_input", "99000");
  }
  EXPECT_EQ(read(package(0)).temperature_c, 71);
  EXPECT_EQ(read(package(1)).temperature_c, 45.5);
  EXPECT_EQ(read(package(1)).temperature_limit_c, 100);
}

TEST_F(SysfsSensorsTest, AmdsNodeHasItsHottestSensor) {
  for (const char* node : {"0", "1"}) {
    const std::string hwmon = std::string("class/hwmon/hwmon") + node + "/";
    tree_.set(hwmon + "name", "k10temp");
    tree_.set(hwmon + "device/numa_node", node);
    tree_.set(hwmon + "temp1_input", *node == '0' ? "60250" : "50000");
    tree_.set(hwmon + "temp3_input", *node == '0' ? "66000" : "30000");
  }
  EXPECT_EQ(read(package(0)).temperature_c, 66);
  EXPECT_EQ(read(package(1)).temperature_c, 50);
  EXPECT_FALSE(read(package(0)).temperature_limit_c.has_value());
}

TEST_F(SysfsSensorsTest, OtherChipsAreNotTheProcessor) {
  tree_.set("class/hwmon/hwmon0/name", "nvme");
  tree_.set("class/hwmon/hwmon0/temp1_input", "80000");
  EXPECT_EQ(read(package(0)), terms::Sensors());
}

TEST_F(SysfsSensorsTest, UnreadableValuesAreAbsent) {
  tree_.set("class/hwmon/hwmon0/name", "k10temp");
  for (const char* text : {"", "hot", "71000x", "99999999999999999999"}) {
    tree_.set("class/hwmon/hwmon0/temp1_input", text);
    EXPECT_FALSE(read(package(0)).temperature_c.has_value()) << text;
  }
  tree_.set("class/hwmon/hwmon0/temp1_input", "71000");
  for (const char* limit : {"0", "-5000", "65261850"}) {
    tree_.set("class/hwmon/hwmon0/temp1_crit", limit);
    EXPECT_FALSE(read(package(0)).temperature_limit_c.has_value()) << limit;
  }
}

TEST_F(SysfsSensorsTest, PowerIsEnergyBetweenTwoLooks) {
  const auto energy = [&](const char* package_0) {
    tree_.set("class/powercap/intel-rapl:0/energy_uj", package_0);
    tree_.set("class/powercap/intel-rapl:1/energy_uj", "1000000");
  };
  tree_.set("class/powercap/intel-rapl:0/name", "package-0");
  tree_.set("class/powercap/intel-rapl:0/max_energy_range_uj", "200000000000");
  tree_.set("class/powercap/intel-rapl:1/name", "package-1");
  tree_.set("class/powercap/intel-rapl:0:0/name", "dram");
  tree_.set("class/powercap/intel-rapl:0:0/energy_uj", "5");
  energy("199840000000");
  EXPECT_FALSE(read(package(0), 1 * kSecondNs).power_w.has_value()) << "the first look";
  energy("199980000000");
  EXPECT_EQ(read(package(0), 3 * kSecondNs).power_w, 70);
  EXPECT_EQ(read(package(0), 3 * kSecondNs).power_w, 70) << "another device of the package";
  energy("10000000");  // wrapped
  EXPECT_EQ(read(package(0), 4 * kSecondNs).power_w, 30);
  energy("60000000");
  EXPECT_EQ(read(package(0), 5 * kSecondNs).power_w, 50);
}

TEST_F(SysfsSensorsTest, PowerIsAbsentWhereTheCounterMayHaveWrappedUnnoticed) {
  const std::string zone = "class/powercap/intel-rapl:0/";
  tree_.set(zone + "name", "package-0");
  tree_.set(zone + "max_energy_range_uj", "200000000000");
  const auto power_at = [&](std::int64_t second, const char* energy_uj) {
    tree_.set(zone + "energy_uj", energy_uj);
    return read(package(0), second * kSecondNs).power_w;
  };
  EXPECT_FALSE(power_at(1, "1000000").has_value());
  EXPECT_EQ(power_at(201, "2001000000"), 10) << "as long as a kilowatt needs for the range";
  EXPECT_FALSE(power_at(402, "2002000000").has_value());
  EXPECT_EQ(power_at(403, "2052000000"), 50) << "the next look is near enough";
  tree_.set(zone + "max_energy_range_uj", "unreadable");
  EXPECT_EQ(power_at(404, "2102000000"), 50);
  EXPECT_FALSE(power_at(405, "1000000").has_value()) << "nobody knows where it wrapped";
  EXPECT_EQ(power_at(1005, "6001000000"), 10);
  EXPECT_FALSE(power_at(1606, "6002000000").has_value()) << "more than ten minutes";
}

TEST_F(SysfsSensorsTest, SumsThatLackACounterAreAbsent) {
  const auto controller = [&](int number, const char* name, const char* uncorrected) {
    const std::string mc = "devices/system/edac/mc/mc" + std::to_string(number) + "/";
    tree_.set(mc + "mc_name", name);
    tree_.set(mc + "ce_count", "3");
    tree_.set(mc + "ue_count", uncorrected);
  };
  controller(0, "Skylake Socket#0 IMC#0", "1");
  controller(1, "Skylake Socket#0 IMC#1", "unreadable");
  EXPECT_EQ(read(package(0)).num_corrected_errors, 6);
  EXPECT_FALSE(read(package(0)).num_uncorrected_errors.has_value());
  controller(1, "Skylake Socket#1 IMC#1", "unreadable");
  EXPECT_EQ(read(package(0)).num_uncorrected_errors, 1) << "that one is of the other package";
  for (int cpu = 0; cpu < 4; ++cpu) {
    tree_.set(cpu_file(cpu, "thermal_throttle/core_throttle_count"), "5");
    tree_.set(cpu_file(cpu, "thermal_throttle/package_throttle_count"), "2");
  }
  EXPECT_EQ(read(package(0)).num_throttles, 5 + 5 + 2);
  tree_.set(cpu_file(2, "thermal_throttle/core_throttle_count"), "unreadable");
  EXPECT_FALSE(read(package(0)).num_throttles.has_value());
}

TEST_F(SysfsSensorsTest, SensorNearestToItsLimitSpeaksForTheDevice) {
  const std::string hwmon = "class/hwmon/hwmon0/";
  tree_.set(hwmon + "name", "k10temp");
  tree_.set(hwmon + "temp1_input", "95000");  // hot, and without a limit
  tree_.set(hwmon + "temp2_input", "70000");
  tree_.set(hwmon + "temp2_crit", "75000");
  tree_.set(hwmon + "temp3_input", "90000");
  tree_.set(hwmon + "temp3_crit", "120000");
  EXPECT_EQ(read(package(0)).temperature_c, 70);
  EXPECT_EQ(read(package(0)).temperature_limit_c, 75);
  tree_.set(hwmon + "temp3_input", "119000");
  EXPECT_EQ(read(package(0)).temperature_c, 119);
  EXPECT_EQ(read(package(0)).temperature_limit_c, 120);
}

TEST_F(SysfsSensorsTest, MemoryErrorsAreOfThePackagesControllers) {
  const auto controller = [&](int number, const char* name, const char* corrected,
                              const char* uncorrected) {
    const std::string mc = "devices/system/edac/mc/mc" + std::to_string(number) + "/";
    tree_.set(mc + "mc_name", name);
    tree_.set(mc + "ce_count", corrected);
    tree_.set(mc + "ue_count", uncorrected);
  };
  controller(0, "Skylake Socket#0 IMC#0", "3", "0");
  controller(1, "Skylake Socket#0 IMC#1", "4", "1");
  controller(2, "Skylake Socket#1 IMC#0", "9", "0");
  EXPECT_EQ(read(package(0)).num_corrected_errors, 7);
  EXPECT_EQ(read(package(0)).num_uncorrected_errors, 1);
  EXPECT_EQ(read(package(1)).num_corrected_errors, 9);
  controller(3, "F19h", "100", "0");
  EXPECT_EQ(read(package(1)).num_corrected_errors, 109) << "whose, nobody says";
}

TEST_F(SysfsSensorsTest, ThrottlesCountCoresAndPackagesOnce) {
  for (int cpu = 0; cpu < 8; ++cpu) {
    tree_.set(cpu_file(cpu, "thermal_throttle/core_throttle_count"), cpu < 4 ? "5" : "0");
    tree_.set(cpu_file(cpu, "thermal_throttle/package_throttle_count"), cpu < 4 ? "2" : "1");
  }
  EXPECT_EQ(read(package(0)).num_throttles, 5 + 5 + 2);
  EXPECT_EQ(read(package(1)).num_throttles, 1);
}

TEST_F(SysfsSensorsTest, DeviceOnTheBusHasWhatItsDriverOffers) {
  terms::Device gpu;
  gpu.kind = "gpu";
  gpu.bus_address = "0000:03:00.0";
  const std::string hwmon = "bus/pci/devices/0000:03:00.0/hwmon/hwmon4/";
  tree_.set(hwmon + "temp1_input", "65000");
  tree_.set(hwmon + "temp1_crit", "100000");
  tree_.set(hwmon + "temp2_input", "82000");
  tree_.set(hwmon + "temp2_crit", "110000");
  tree_.set(hwmon + "power1_average", "215500000");
  const terms::Sensors sensors = read(gpu);
  EXPECT_EQ(sensors.temperature_c, 82);
  EXPECT_EQ(sensors.temperature_limit_c, 110);
  EXPECT_EQ(sensors.power_w, 215.5);
  gpu.bus_address = "0000:04:00.0";
  EXPECT_EQ(read(gpu), terms::Sensors());
}

}  // namespace
}  // namespace sluice::topology
