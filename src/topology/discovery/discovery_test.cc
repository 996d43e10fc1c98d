#include "topology/discovery/discovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/paths.h"

namespace sluice::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Findings gpu_from_pci() {
  Findings found = {.report = {"hwloc", 2, ""}};
  found.devices.push_back({.id = terms::DeviceId(0),
                           .kind = "cpu",
                           .name = "processor",
                           .numa_node = 0,
                           .num_cores = 4});
  found.devices.push_back({.id = terms::DeviceId(1),
                           .kind = "gpu",
                           .name = "PCI device 10de:2330",
                           .bus_address = "0000:1c:00.0",
                           .numa_node = 0});
  found.links = {{terms::DeviceId(0), terms::DeviceId(1), "pcie"}};
  return found;
}

Findings gpu_from_nvml() {
  Findings found = {.report = {"nvml", 2, ""}};
  found.devices.push_back({.id = terms::DeviceId(0),
                           .kind = "gpu",
                           .name = "Fast GPU",
                           .bus_address = "0000:1d:00.0",
                           .memory_bytes = 1000});
  found.devices.push_back({.id = terms::DeviceId(1),
                           .kind = "gpu",
                           .name = "Fast GPU",
                           .bus_address = "0000:1c:00.0",
                           .memory_bytes = 1000,
                           .features = {"sm_90"}});
  found.links = {{terms::DeviceId(0), terms::DeviceId(1), "nvlink"}};
  return found;
}

TEST(Discovery, DevicesReportedByTwoSourcesAreMerged) {
  const DeviceMap map = merge_findings({gpu_from_pci(), gpu_from_nvml()});
  ASSERT_EQ(map.devices.size(), 3U);
  const terms::Device* gpu = find_device_at(map, "0000:1c:00.0");
  ASSERT_NE(gpu, nullptr);
  EXPECT_EQ(gpu->name, "Fast GPU");
  EXPECT_EQ(gpu->numa_node, 0);
  EXPECT_EQ(gpu->memory_bytes, 1000);
  EXPECT_THAT(gpu->features, ElementsAre("sm_90"));
}

TEST(Discovery, LinksOfAllSourcesAreMerged) {
  const DeviceMap map = merge_findings({gpu_from_pci(), gpu_from_nvml()});
  EXPECT_EQ(map.devices[0].kind, "cpu");
  EXPECT_TRUE(are_linked(map, terms::DeviceId(0), find_device_at(map, "1c:00.0")->id));
  EXPECT_TRUE(are_linked(map, terms::DeviceId(1), terms::DeviceId(2)));
  EXPECT_EQ(map.links.size(), 2U);
}

TEST(Discovery, PluginTakesOverADeviceWithoutABackend) {
  Findings plugin = {.report = {"plug-ins", 1, ""}};
  plugin.devices.push_back({.id = terms::DeviceId(0),
                            .kind = "gpu",
                            .name = "Driven GPU",
                            .backend = "cuda",
                            .backend_index = 0,
                            .bus_address = "0000:1c:00.0",
                            .num_cores = 132,
                            .memory_bytes = 900});
  const DeviceMap map = merge_findings({gpu_from_pci(), plugin});
  const terms::Device* gpu = find_device_at(map, "1c:00.0");
  ASSERT_NE(gpu, nullptr);
  EXPECT_EQ(gpu->backend, "cuda");
  EXPECT_EQ(gpu->num_cores, 132);
  EXPECT_EQ(gpu->numa_node, 0);
}

TEST(Discovery, EverySourceReports) {
  const auto map = discover_devices({}, {.nvml_library = "libno-such-library.so"});
  ASSERT_TRUE(map.is_ok()) << map.status().to_string();
  ASSERT_EQ(map->sources.size(), 3U);
  EXPECT_EQ(map->sources[0].source, "hwloc");
  EXPECT_THAT(map->sources[1].reason, HasSubstr("libno-such-library.so"));
  EXPECT_EQ(map->sources[2].source, "plug-ins");
}

#ifdef SLUICE_HWLOC
TEST(Discovery, SyntheticMachineStandsAlone) {
  const auto map = discover_devices({}, {.synthetic = "numa:2 core:4 pu:1"});
  ASSERT_TRUE(map.is_ok()) << map.status().to_string();
  EXPECT_EQ(map->devices.size(), 2U);
  EXPECT_EQ(map->sources.size(), 1U);
  EXPECT_TRUE(are_linked(*map, terms::DeviceId(0), terms::DeviceId(1)));
}

TEST(Discovery, BadSyntheticDescriptionIsAnError) {
  EXPECT_EQ(discover_devices({}, {.synthetic = "nonsense"}).status().code(),
            Code::kInvalidArgument);
}
#endif

TEST(Discovery, NvmlsGpusAreOnTheMap) {
  const auto map =
      discover_devices({}, {.nvml_library = sluice::testing::build_path("test/fake_nvml.so")});
  ASSERT_TRUE(map.is_ok());
  ASSERT_NE(find_device_at(*map, "1d:00.0"), nullptr);
  EXPECT_EQ(find_device_at(*map, "1d:00.0")->name, "Fake GPU 1");
}

}  // namespace
}  // namespace sluice::topology
