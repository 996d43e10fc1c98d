#include "topology/cores/plugin_cores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/testing/topology_testing.h"

namespace sluice::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<backend::DeviceInfo> kHost = {
    {.kind = "cpu", .name = "", .num_cores = 4, .bus_address = ""}};
const std::vector<std::int32_t> kUsable = {2, 3, 6, 7};

/// Two NUMA nodes of two cores with two threads each, and processors 0 and 1 are another's.
DeviceMap two_nodes() {
  DeviceMap map = testing::make_chain(2, 2);
  for (terms::Device& device : map.devices) {
    device.kind = "cpu";
    device.backend.clear();
    device.backend_index = -1;
    device.bus_address.clear();
  }
  map.devices[0].cpus = {{2, 3}, {3}};
  map.devices[1].cpus = {{6}, {7}};
  return map;
}

Result<PluginCores> look_up(const DeviceMap& map, const std::vector<terms::CoreRef>& cores,
                            std::string_view backend,
                            const std::vector<backend::DeviceInfo>& devices) {
  return plugin_cores(map, cores, backend, devices, kUsable);
}

TEST(PluginCores, ProcessorsAreFoundByTheirRankAcrossNodes) {
  const auto found = look_up(
      two_nodes(), {{terms::DeviceId(0), 1}, {terms::DeviceId(1), 0}, {terms::DeviceId(1), 1}},
      "cpu", kHost);
  ASSERT_TRUE(found.is_ok()) << found.status().to_string();
  EXPECT_EQ(found->device, 0);
  EXPECT_THAT(found->cores, ElementsAre(1, 2, 3));
}

TEST(PluginCores, ProcessorOutsideTheAffinityMaskIsNamed) {
  DeviceMap map = two_nodes();
  map.devices[1].cpus = {{6}, {9}};
  const auto found = look_up(map, {{terms::DeviceId(1), 1}}, "cpu", kHost);
  EXPECT_EQ(found.status().code(), Code::kFailedPrecondition);
  EXPECT_THAT(found.status().message(), HasSubstr("processor 9 (core 1 of device 1)"));
}

TEST(PluginCores, DrivenDeviceHasThePluginsNumbers) {
  const std::vector<backend::DeviceInfo> devices(
      3, {.kind = "sim", .name = "", .num_cores = 2, .bus_address = ""});
  const auto found = look_up(testing::make_chain(3, 2),
                             {{terms::DeviceId(2), 0}, {terms::DeviceId(2), 1}}, "sim", devices);
  ASSERT_TRUE(found.is_ok());
  EXPECT_EQ(*found, (PluginCores{2, {0, 1}}));
}

TEST(PluginCores, RefusesDevicesOfOtherPlugins) {
  const std::vector<backend::DeviceInfo> one(
      1, {.kind = "sim", .name = "", .num_cores = 2, .bus_address = ""});
  const DeviceMap map = testing::make_chain(2, 2);
  EXPECT_THAT(look_up(map, {{terms::DeviceId(0), 0}}, "cuda", one).status().message(),
              HasSubstr("driven by \"sim\", not by backend \"cuda\""));
  EXPECT_THAT(look_up(two_nodes(), {{terms::DeviceId(0), 0}}, "sim", one).status().message(),
              HasSubstr("no device of kind \"cpu\""));
  EXPECT_THAT(look_up(map, {{terms::DeviceId(1), 0}}, "sim", one).status().message(),
              HasSubstr("has no such"));
}

TEST(PluginCores, RefusesCoresOfTwoDevicesOfAPlugin) {
  const std::vector<backend::DeviceInfo> devices(
      2, {.kind = "sim", .name = "", .num_cores = 2, .bus_address = ""});
  const DeviceMap map = testing::make_chain(2, 2);
  EXPECT_EQ(look_up(map, {{terms::DeviceId(0), 1}, {terms::DeviceId(1), 0}}, "sim", devices)
                .status()
                .code(),
            Code::kInvalidArgument);
  EXPECT_EQ(look_up(map, {}, "sim", devices).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace sluice::topology
