#include "rpc/kubelet/core_units.h"

#include <gtest/gtest.h>

namespace sluice::rpc::kubelet {
namespace {

using Ids = std::vector<std::string>;

terms::Device device(std::int32_t id, std::int32_t num_cores, std::int32_t numa_node = -1) {
  return {.id = terms::DeviceId(id), .numa_node = numa_node, .num_cores = num_cores};
}

Ids ids_of(std::span<const CoreUnit> units) {
  Ids ids;
  for (const CoreUnit& unit : units) ids.push_back(unit.id);
  return ids;
}

Ids chosen(std::span<const CoreUnit> units, const Ids& available, const Ids& required, int count) {
  const auto ids = preferred_units(units, available, required, count);
  EXPECT_TRUE(ids.is_ok()) << ids.status().to_string();
  return ids.is_ok() ? *ids : Ids();
}

TEST(CoreUnits, AreTheWholeGroupsOfEachDevice) {
  const std::vector devices = {device(0, 5, 0), device(1, 1), device(2, 2, 1)};
  const auto units = core_units(devices, 2);
  EXPECT_EQ(ids_of(units), (Ids{"device0-group0", "device0-group1", "device2-group0"}));
  EXPECT_EQ(units[1].numa_node, 0);
  EXPECT_EQ(units[2].device, terms::DeviceId(2));
}

TEST(CoreUnits, PreferTheSmallestNodeThatHasEnough) {
  const auto units = core_units(std::vector{device(0, 6, 0), device(1, 4, 1)}, 2);
  EXPECT_EQ(chosen(units, ids_of(units), {}, 2), (Ids{"device1-group0", "device1-group1"}));
  EXPECT_EQ(chosen(units, ids_of(units), {}, 3),
            (Ids{"device0-group0", "device0-group1", "device0-group2"}));
}

TEST(CoreUnits, StayOnTheNodeOfARequiredUnit) {
  const auto units = core_units(std::vector{device(0, 6, 0), device(1, 4, 1)}, 2);
  EXPECT_EQ(chosen(units, ids_of(units), {"device0-group1"}, 2),
            (Ids{"device0-group1", "device0-group0"}));
}

TEST(CoreUnits, FillTheLargestNodeWhereNoneHasEnough) {
  const auto units = core_units(std::vector{device(0, 2, 0), device(1, 4, 1)}, 2);
  EXPECT_EQ(chosen(units, ids_of(units), {}, 3),
            (Ids{"device1-group0", "device1-group1", "device0-group0"}));
}

TEST(CoreUnits, PreferOneDeviceWithinANode) {
  const auto units = core_units(std::vector{device(0, 2, 0), device(1, 4, 0)}, 2);
  EXPECT_EQ(chosen(units, ids_of(units), {}, 2), (Ids{"device1-group0", "device1-group1"}));
}

TEST(CoreUnits, DeviceWithoutANodeIsAPlaceOfItsOwn) {
  const auto units = core_units(std::vector{device(0, 2), device(1, 4)}, 2);
  EXPECT_EQ(chosen(units, ids_of(units), {}, 2), (Ids{"device1-group0", "device1-group1"}));
}

TEST(CoreUnits, AreNotChosenTwiceAndNotBeyondThoseAvailable) {
  const auto units = core_units(std::vector{device(0, 4)}, 2);
  EXPECT_EQ(chosen(units, {"device0-group1"}, {"device0-group1"}, 1), (Ids{"device0-group1"}));
  EXPECT_FALSE(preferred_units(units, Ids{"device0-group1"}, {}, 2).is_ok());
  EXPECT_FALSE(preferred_units(units, Ids{}, Ids{"device0-group1"}, 0).is_ok());
  EXPECT_FALSE(preferred_units(units, Ids{}, {}, 1).is_ok());
}

}  // namespace
}  // namespace sluice::rpc::kubelet
