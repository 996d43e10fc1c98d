#include "sluice/devices/device_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::tool {
namespace {

using terms::DeviceId;

topology::DeviceMap example() {
  topology::DeviceMap map;
  map.devices.push_back({.id = DeviceId(0),
                         .kind = "cpu",
                         .name = "Example Processor",
                         .numa_node = 0,
                         .num_cores = 2,
                         .memory_bytes = std::int64_t{3} << 29,
                         .cpus = {{0, 4}, {1, 5}},
                         .caches = {{"L3", 32 << 20, 1}}});
  map.devices.push_back({.id = DeviceId(1),
                         .kind = "gpu",
                         .name = "Fast GPU",
                         .backend = "cuda",
                         .backend_index = 3,
                         .bus_address = "0000:1c:00.0",
                         .features = {"fp8", "sm_90"}});
  map.links.push_back({DeviceId(0), DeviceId(1), "pcie"});
  return map;
}

TEST(DeviceTable, ColumnsLineUpAndUnknownIsADash) {
  EXPECT_EQ(device_table(example(), false),
            "DEVICE  KIND  NAME               CORES  MEMORY   NUMA  BUS ADDRESS   CONNECTED TO\n"
            "0       cpu   Example Processor  2      1.5 GiB  0     -             1\n"
            "1       gpu   Fast GPU           -      -        -     0000:1c:00.0  0\n");
}

TEST(DeviceTable, WideAddsPluginProcessorsCachesAndFeatures) {
  const std::string text = device_table(example(), true);
  EXPECT_THAT(text, ::testing::HasSubstr("any      0-1,4-5     L3 1 x 32 MiB  -\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("cuda:3   -           -              fp8, sm_90\n"));
}

TEST(DeviceTable, BytesAreShownInTheLargestUnit) {
  EXPECT_EQ(format_bytes(0), "-");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1 << 20), "1 MiB");
  EXPECT_EQ(format_bytes(std::int64_t{1} << 62), "4 EiB");
}

TEST(DeviceTable, RunsOfNumbersAreJoined) {
  EXPECT_EQ(format_numbers({3, 0, 1, 2, 8, 10, 11}), "0-3,8,10-11");
  EXPECT_EQ(format_numbers({}), "");
}

}  // namespace
}  // namespace sluice::tool
