#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/file.h"
#include "support/paths.h"
#include "topology/discovery/sources.h"

namespace sluice::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Findings synthetic(const std::string& text) {
  auto found = find_hwloc({.synthetic = text});
  EXPECT_TRUE(found.is_ok()) << found.status().to_string();
  return found.is_ok() ? std::move(found).value() : Findings();
}

TEST(HwlocSource, NumaNodeIsADeviceWithItsCores) {
  const Findings found = synthetic("numa:2 core:3 pu:2");
  ASSERT_EQ(found.devices.size(), 2U);
  const terms::Device& second = found.devices[1];
  EXPECT_EQ(second.kind, "cpu");
  EXPECT_EQ(second.numa_node, 1);
  EXPECT_EQ(second.num_cores, 3);
  EXPECT_THAT(second.cpus, ElementsAre(ElementsAre(6, 7), ElementsAre(8, 9), ElementsAre(10, 11)));
  EXPECT_EQ(second.backend, "");
}

TEST(HwlocSource, NodesAreLinkedWithEachOther) {
  const Findings found = synthetic("numa:3 core:1 pu:1");
  EXPECT_EQ(found.links.size(), 3U);
}

TEST(HwlocSource, PackagesAreDevicesWhereTheyOutnumberNodes) {
  const Findings found = synthetic("[numa(memory=8GB)] package:2 core:4 pu:1");
  ASSERT_EQ(found.devices.size(), 2U);
  EXPECT_EQ(found.devices[1].num_cores, 4);
  EXPECT_EQ(found.devices[1].numa_node, 0);
  EXPECT_EQ(found.devices[0].memory_bytes, found.devices[1].memory_bytes);
  EXPECT_EQ(found.devices[0].memory_bytes * 2, std::int64_t{8} * 1000 * 1000 * 1000);
}

TEST(HwlocSource, MemoryIsThatOfTheNode) {
  const Findings found = synthetic("numa:2(memory=1GiB) core:1 pu:1");
  EXPECT_EQ(found.devices[0].memory_bytes, std::int64_t{1} << 30);
}

TEST(HwlocSource, CachesAreCountedByLevel) {
  const Findings found = synthetic("numa:2 l3:1(size=32MiB) l2:4(size=1MiB) core:1 pu:1");
  const auto& caches = found.devices[0].caches;
  ASSERT_EQ(caches.size(), 2U);
  EXPECT_EQ(caches[0], (terms::Cache{"L2", 1 << 20, 4}));
  EXPECT_EQ(caches[1], (terms::Cache{"L3", 32 << 20, 1}));
}

TEST(HwlocSource, WithoutCoresEveryProcessorIsOne) {
  EXPECT_EQ(synthetic("numa:1 pu:6").devices[0].num_cores, 6);
}

TEST(HwlocSource, BadDescriptionIsRefusedWithAnExample) {
  const auto found = find_hwloc({.synthetic = "three potatoes"});
  EXPECT_EQ(found.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(found.status().message(), HasSubstr("three potatoes"));
  EXPECT_THAT(found.status().message(), HasSubstr("numa:2 core:4 pu:2"));
  EXPECT_FALSE(find_hwloc({.xml = "<no topology>"}).is_ok());
}

TEST(HwlocSource, PciAcceleratorsAreLinkedToTheirNode) {
  const auto xml =
      read_text_file(sluice::testing::source_path("src/topology/testdata/two_nodes_with_pci.xml"));
  ASSERT_TRUE(xml.is_ok());
  const auto found = find_hwloc({.xml = *xml});
  ASSERT_TRUE(found.is_ok()) << found.status().to_string();
  ASSERT_EQ(found->devices.size(), 4U);  // two nodes, a GPU, an accelerator; the console is none
  const terms::Device& accelerator = found->devices[2];
  EXPECT_EQ(accelerator.kind, "accelerator");
  EXPECT_EQ(accelerator.numa_node, 0);
  const terms::Device& gpu = found->devices[3];
  EXPECT_EQ(gpu.kind, "gpu");
  EXPECT_EQ(gpu.name, "PCI device 10de:2330");
  EXPECT_EQ(gpu.bus_address, "0000:9b:00.0");
  EXPECT_EQ(gpu.numa_node, 1);
  EXPECT_EQ(gpu.num_cores, 0);
  ASSERT_EQ(found->links.size(), 3U);
  EXPECT_EQ(found->links[2], (Link{terms::DeviceId(1), terms::DeviceId(3), "pcie"}));
}

TEST(HwlocSource, ThisMachineHasProcessorsEachInOneCore) {
  const auto found = find_hwloc();
  ASSERT_TRUE(found.is_ok()) << found.status().to_string();
  std::set<std::int32_t> seen;
  for (const terms::Device& device : found->devices) {
    for (const auto& core : device.cpus) {
      for (const std::int32_t cpu : core) EXPECT_TRUE(seen.insert(cpu).second);
    }
  }
  EXPECT_FALSE(seen.empty());
}

}  // namespace
}  // namespace sluice::topology
