#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/paths.h"
#include "support/sim.h"
#include "topology/discovery/discovery.h"
#include "topology/discovery/sources.h"

namespace sluice::topology {
namespace {

using ::testing::HasSubstr;

backend::BackendRegistry reference_and(const std::filesystem::path& other) {
  const auto path = sluice::testing::build_path("lib/sluice/libsluice_backend_reference.so");
  return backend::BackendRegistry::discover({.paths = {path, other}, .options = {}});
}

TEST(PluginSource, ProcessorsAreReportedOnceAndOnlyIfUnknown) {
  const auto plugins = reference_and(sluice::testing::build_path("lib/sluice"));
  const Findings found = find_plugin_devices(plugins.all(), false, false);
  ASSERT_EQ(found.devices.size(), 1U);
  EXPECT_EQ(found.devices[0].kind, "cpu");
  EXPECT_EQ(found.devices[0].backend, "");
  EXPECT_GT(found.devices[0].num_cores, 0);
  EXPECT_TRUE(find_plugin_devices(plugins.all(), true, false).devices.empty());
}

TEST(PluginSource, PluginThatDoesNotLoadIsAReason) {
  const auto plugins = reference_and("libsluice_backend_gone.so");
  EXPECT_THAT(find_plugin_devices(plugins.all(), true, false).report.reason,
              HasSubstr("libsluice_backend_gone.so"));
}

/// Wired 2 - 0 - 3 - 1.
constexpr const char* kCrossedChain = R"({
  "devices": [{"count": 4, "cores": 2, "bus_address": "0000:00:1{}.0", "memory_bytes": 1000}],
  "links": [{"a": 2, "b": 0}, {"a": 0, "b": 3, "bytes_per_s": 2e9, "latency_ns": 650},
            {"a": 3, "b": 1}]})";

TEST(PluginSource, SimulatedDevicesAreFoundWithTheirLinks) {
  const auto sim = sluice::testing::make_sim(kCrossedChain);
  ASSERT_TRUE(sim.is_ok()) << sim.status().to_string();
  const Findings found = find_plugin_devices(sim->registry.all(), true, true);
  ASSERT_EQ(found.devices.size(), 4U);
  const terms::Device& device = found.devices[2];
  EXPECT_EQ(device.backend, "sim");
  EXPECT_EQ(device.backend_index, 2);
  EXPECT_EQ(device.bus_address, "0000:00:12.0");
  EXPECT_EQ(device.num_cores, 2);
  EXPECT_EQ(device.memory_bytes, 1000);
  EXPECT_THAT(device.features, ::testing::ElementsAre("simulated"));
  EXPECT_EQ(found.links.size(), 3U);
}

TEST(PluginSource, SimulatedDevicesAreNotTakenForReal) {
  const auto sim = sluice::testing::make_sim(kCrossedChain);
  ASSERT_TRUE(sim.is_ok());
  EXPECT_TRUE(find_plugin_devices(sim->registry.all(), true, false).devices.empty());
}

TEST(Discovery, SimulatedDevicesAreNumberedAlongTheirLinks) {
  const auto sim = sluice::testing::make_sim(kCrossedChain);
  ASSERT_TRUE(sim.is_ok());
  const auto map = discover_devices(sim->registry, {.only_simulated = true});
  ASSERT_TRUE(map.is_ok()) << map.status().to_string();
  std::vector<std::int32_t> order;
  for (const terms::Device& device : map->devices) order.push_back(device.backend_index);
  EXPECT_THAT(order, ::testing::ElementsAre(1, 3, 0, 2));
  const auto fast = std::ranges::find(map->links, 650, &Link::latency_ns);
  ASSERT_NE(fast, map->links.end());
  EXPECT_EQ(fast->bandwidth_bytes_per_second, 2'000'000'000);
  EXPECT_EQ(map->devices[fast->a.index()].backend_index, 3);
}

}  // namespace
}  // namespace sluice::topology
