#include "topology/map/logical_ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "topology/cores/core_groups.h"
#include "topology/testing/topology_testing.h"

namespace sluice::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;
using testing::four_in_a_row;
using testing::make_chain;
using testing::make_ring;

std::vector<std::size_t> order(std::size_t num_nodes, const Pairs& edges) {
  return order_along_links(num_nodes, edges);
}

bool is_walk(const std::vector<std::size_t>& nodes, const Pairs& edges) {
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    const std::pair<std::size_t, std::size_t> step(nodes[i - 1], nodes[i]);
    const std::pair<std::size_t, std::size_t> back(nodes[i], nodes[i - 1]);
    if (std::ranges::find(edges, step) == edges.end() &&
        std::ranges::find(edges, back) == edges.end()) {
      return false;
    }
  }
  return true;
}

TEST(OrderAlongLinks, ChainStartsAtItsLowerEnd) {
  EXPECT_THAT(order(4, {{2, 0}, {0, 3}, {3, 1}}), ElementsAre(1, 3, 0, 2));
}

TEST(OrderAlongLinks, RingStartsAtItsLowestNodeTowardsTheLowerNeighbour) {
  EXPECT_THAT(order(5, {{0, 3}, {3, 1}, {1, 4}, {4, 2}, {2, 0}}), ElementsAre(0, 2, 4, 1, 3));
}

TEST(OrderAlongLinks, ComponentsStayTogether) {
  EXPECT_THAT(order(6, {{0, 4}, {1, 3}, {3, 5}}), ElementsAre(0, 4, 1, 3, 5, 2));
}

TEST(OrderAlongLinks, NodesWithoutLinksKeepTheirOrder) {
  EXPECT_THAT(order(3, {}), ElementsAre(0, 1, 2));
}

TEST(OrderAlongLinks, TreeIsWalkedDepthFirst) {
  // 0 is the root of 1 and 2; 3 hangs below 1; 4 and 5 below 2.
  const Pairs edges = {{0, 1}, {0, 2}, {1, 3}, {2, 4}, {2, 5}};
  EXPECT_THAT(order(6, edges), ElementsAre(3, 1, 0, 2, 4, 5));
}

TEST(OrderAlongLinks, GridIsWalkedOnAPathThroughAll) {
  Pairs edges;
  for (std::size_t row = 0; row < 4; ++row) {
    for (std::size_t column = 0; column < 4; ++column) {
      if (column < 3) edges.emplace_back(row * 4 + column, row * 4 + column + 1);
      if (row < 3) edges.emplace_back(row * 4 + column, row * 4 + column + 4);
    }
  }
  const auto nodes = order(16, edges);
  EXPECT_EQ(nodes.size(), 16U);
  EXPECT_TRUE(is_walk(nodes, edges));
}

TEST(OrderAlongLinks, OrderOfTheEdgesDoesNotMatter) {
  Pairs edges = {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {1, 4}, {4, 5}, {6, 7}};
  const auto expected = order(8, edges);
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    std::shuffle(edges.begin(), edges.end(), random);
    EXPECT_EQ(order(8, edges), expected);
  }
}

TEST(OrderAlongLinks, EveryNodeComesOnceInRandomGraphs) {
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    const std::size_t num_nodes = 1 + random() % 12;
    Pairs edges;
    for (std::size_t i = 0; i < random() % 20; ++i) {
      const std::size_t a = random() % num_nodes;
      const std::size_t b = random() % num_nodes;
      if (a != b) edges.emplace_back(a, b);
    }
    auto nodes = order(num_nodes, edges);
    std::ranges::sort(nodes);
    std::vector<std::size_t> all(num_nodes);
    std::iota(all.begin(), all.end(), std::size_t{0});
    ASSERT_EQ(nodes, all);
  }
}

TEST(LogicalIds, FollowThePhysicalChainNotTheOrderOfDiscovery) {
  // Addresses 00 to 03, wired 02 - 00 - 03 - 01.
  DeviceMap map = testing::make_map({4, 4, 4, 4}, {{2, 0}, {0, 3}, {3, 1}});
  std::mt19937 random(3);
  for (int round = 0; round < 10; ++round) {
    std::shuffle(map.devices.begin(), map.devices.end(), random);
    std::shuffle(map.links.begin(), map.links.end(), random);
    const DeviceMap numbered = with_logical_ids(map);
    std::vector<std::string> addresses;
    for (const terms::Device& device : numbered.devices) addresses.push_back(device.bus_address);
    EXPECT_THAT(addresses,
                ElementsAre("0000:00:01.0", "0000:00:03.0", "0000:00:00.0", "0000:00:02.0"));
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(numbered.devices[i].id, terms::DeviceId(i));
    for (std::size_t i = 1; i < 4; ++i) {
      EXPECT_TRUE(are_linked(numbered, terms::DeviceId(i - 1), terms::DeviceId(i)));
    }
    EXPECT_FALSE(are_linked(numbered, terms::DeviceId(0), terms::DeviceId(2)));
  }
}

TEST(LogicalIds, ProcessorsComeFirst) {
  DeviceMap map = make_chain(3, 1);
  map.devices[2].kind = "cpu";
  map.devices[2].backend = "";
  const DeviceMap numbered = with_logical_ids(map);
  EXPECT_EQ(numbered.devices[0].kind, "cpu");
  EXPECT_EQ(numbered.devices[1].kind, "sim");
}

TEST(SelectDevices, TakesDevicesThatFormAChain) {
  const auto part = select_devices(four_in_a_row(), testing::ids({2, 0, 1}));
  ASSERT_TRUE(part.is_ok()) << part.status().to_string();
  ASSERT_EQ(part->devices.size(), 3U);
  EXPECT_EQ(part->devices[0].bus_address, "0000:00:1c.0");
  EXPECT_EQ(part->devices[2].bus_address, "0000:00:1e.0");
  EXPECT_EQ(part->links.size(), 2U);
}

TEST(SelectDevices, TakesASingleDevice) {
  const auto part = select_devices(four_in_a_row(), testing::ids({3}));
  ASSERT_TRUE(part.is_ok());
  EXPECT_EQ(part->devices[0].id, terms::DeviceId(3));
}

TEST(SelectDevices, RefusesDevicesThatAreNotConnected) {
  const auto part = select_devices(four_in_a_row(), testing::ids({0, 2}));
  ASSERT_FALSE(part.is_ok());
  EXPECT_EQ(part.status().code(), Code::kFailedPrecondition);
  EXPECT_THAT(part.status().message(), HasSubstr("0000:00:1c.0"));
  EXPECT_THAT(part.status().message(), HasSubstr("0000:00:1e.0"));
}

TEST(SelectDevices, SelectionWrapsAroundARing) {
  const auto part = select_devices(make_ring(4, 2), testing::ids({0, 3, 2}));
  ASSERT_TRUE(part.is_ok()) << part.status().to_string();
  for (std::size_t i = 1; i < 3; ++i) {
    EXPECT_TRUE(are_adjacent(*part, part->devices[i - 1], part->devices[i]));
  }
}

TEST(SelectDevices, RefusesUnknownRepeatedAndNoDevices) {
  EXPECT_EQ(select_devices(four_in_a_row(), testing::ids({0, 7})).status().code(), Code::kNotFound);
  EXPECT_EQ(select_devices(four_in_a_row(), testing::ids({1, 1})).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(select_devices(four_in_a_row(), {}).status().code(), Code::kInvalidArgument);
}

TEST(SelectDevices, RuntimesOnDisjointSubsetsShareNoDevice) {
  // Three of the four devices for one runtime, the last for another.
  const auto three = select_devices(four_in_a_row(), testing::ids({0, 1, 2}));
  const auto one = select_devices(four_in_a_row(), testing::ids({3}));
  ASSERT_TRUE(three.is_ok());
  ASSERT_TRUE(one.is_ok());
  CoreGroups first(*three);
  CoreGroups second(*one);
  EXPECT_EQ(first.num_free_cores(), 12);
  EXPECT_EQ(second.num_free_cores(), 4);
  const auto all = first.create({}, terms::GroupOrigin::kExplicit);
  ASSERT_TRUE(all.is_ok());
  EXPECT_EQ(second.num_free_cores(), 4);
  EXPECT_EQ(
      second.create({.num_cores = 1, .devices = testing::ids({0})}, terms::GroupOrigin::kExplicit)
          .status()
          .code(),
      Code::kNotFound);
}

TEST(SelectDevices, DeviceIsTheSmallestPart) {
  const auto part = select_devices(four_in_a_row(), testing::ids({1}));
  ASSERT_TRUE(part.is_ok());
  EXPECT_EQ(part->devices[0].num_cores, 4);
  EXPECT_EQ(part->devices[0], four_in_a_row().devices[1]);
}

TEST(SelectDevices, RequestsLargerThanTheSelectionAreRefused) {
  const auto part = select_devices(four_in_a_row(), testing::ids({1}));
  ASSERT_TRUE(part.is_ok());
  CoreGroups groups(*part);
  EXPECT_EQ(groups.create({.num_cores = 5}, terms::GroupOrigin::kImplicit).status().code(),
            Code::kFailedPrecondition);
  CoreGroups whole(four_in_a_row());
  EXPECT_TRUE(whole.create({.num_cores = 5}, terms::GroupOrigin::kImplicit).is_ok());
}

}  // namespace
}  // namespace sluice::topology
