#include "topology/cores/core_allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "topology/map/logical_ids.h"
#include "topology/testing/topology_testing.h"

namespace sluice::topology {
namespace {

using ::testing::ElementsAre;
using testing::four_in_a_row;
using ::testing::HasSubstr;
using testing::ids;
using testing::make_chain;
using testing::make_map;
using testing::make_ring;
using ::testing::Not;

constexpr terms::CoreGroupId kA(1);
constexpr terms::CoreGroupId kB(2);
constexpr terms::CoreGroupId kC(3);

terms::CoreRef at(int device, int core) { return {terms::DeviceId(device), core}; }

terms::CoreRequest cores_from(int count, int device, int core) {
  return {.num_cores = count, .first = at(device, core)};
}

std::vector<terms::CoreRef> reserve(CoreAllocator& allocator, terms::CoreGroupId owner,
                                    const terms::CoreRequest& request) {
  const auto result = allocator.reserve(owner, request);
  EXPECT_TRUE(result.is_ok()) << result.status().to_string();
  return result.is_ok() ? result->cores : std::vector<terms::CoreRef>();
}

Status refusal(CoreAllocator& allocator, const terms::CoreRequest& request) {
  const auto result = allocator.reserve(terms::CoreGroupId(999), request);
  EXPECT_FALSE(result.is_ok());
  return result.status();
}

TEST(CoreAllocator, GivesNeighbouringCoresOfOneDevice) {
  CoreAllocator allocator(four_in_a_row());
  EXPECT_THAT(reserve(allocator, kA, {.num_cores = 3}), ElementsAre(at(0, 0), at(0, 1), at(0, 2)));
  EXPECT_EQ(allocator.owner_of(at(0, 2)), kA);
  EXPECT_EQ(allocator.owner_of(at(0, 3)), terms::CoreGroupId());
}

TEST(CoreAllocator, PassesFromADeviceToTheNextOnlyWhereTheyAreLinked) {
  CoreAllocator allocator(four_in_a_row());
  const auto cores = reserve(allocator, kA, {.num_cores = 6});
  EXPECT_THAT(cores, ElementsAre(at(0, 0), at(0, 1), at(0, 2), at(0, 3), at(1, 0), at(1, 1)));
}

TEST(CoreAllocator, PutsEachPartOfACoreRangeOnOneDevice) {
  CoreAllocator allocator(four_in_a_row());
  reserve(allocator, kA, cores_from(2, 0, 0));
  const auto cores = reserve(allocator, kB, {.num_cores = 5, .parts = {4, 1}});
  EXPECT_THAT(cores, ElementsAre(at(1, 0), at(1, 1), at(1, 2), at(1, 3), at(2, 0)));
}

TEST(CoreAllocator, LeavesCoresIdleWhereAPartWouldLieOnTwoDevices) {
  CoreAllocator allocator(four_in_a_row());
  const auto cores = reserve(allocator, kA, {.num_cores = 9, .parts = {3, 3, 3}});
  EXPECT_THAT(cores, ElementsAre(at(0, 1), at(0, 2), at(0, 3), at(1, 0), at(1, 1), at(1, 2),
                                 at(1, 3), at(2, 0), at(2, 1), at(2, 2)));
  EXPECT_THAT(refusal(allocator, {.num_cores = 5, .parts = {5}}).message(),
              HasSubstr("a part is larger than any device"));
}

TEST(CoreAllocator, NeverSpansUnlinkedDevices) {
  // 1c.0, 1d.0 and 1e.0 in a row; 1c.0 and 1e.0 alone are not connected.
  CoreAllocator allocator(four_in_a_row());
  const Status status = refusal(allocator, {.num_cores = 8, .devices = testing::ids({0, 2})});
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("longest core range is 4"));
  EXPECT_EQ(reserve(allocator, kA, {.num_cores = 8, .devices = testing::ids({0, 1})}).size(), 8U);
}

TEST(CoreAllocator, EndsACoreRangeWhereALinkIsMissing) {
  // Devices 0 and 1 are linked, and 2 and 3; nothing links the pairs.
  CoreAllocator allocator(make_map({2, 2, 2, 2}, {{0, 1}, {2, 3}}));
  EXPECT_EQ(allocator.longest_free_range(), 4);
  EXPECT_THAT(refusal(allocator, {.num_cores = 5}).message(), HasSubstr("longest core range is 4"));
  EXPECT_THAT(reserve(allocator, kA, {.num_cores = 3}), ElementsAre(at(0, 0), at(0, 1), at(1, 0)));
  EXPECT_THAT(reserve(allocator, kB, {.num_cores = 3}), ElementsAre(at(2, 0), at(2, 1), at(3, 0)));
}

TEST(CoreAllocator, NeverMixesKindsOfDevices) {
  DeviceMap map = make_chain(2, 2);
  map.devices[1].kind = "gpu";
  CoreAllocator allocator(map);
  EXPECT_EQ(refusal(allocator, {.num_cores = 3}).code(), Code::kFailedPrecondition);
}

TEST(CoreAllocator, CoreHasOneOwner) {
  CoreAllocator allocator(make_chain(1, 4));
  reserve(allocator, kA, cores_from(2, 0, 1));
  const Status status = refusal(allocator, cores_from(1, 0, 2));
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("core group 1"));
}

TEST(CoreAllocator, ReleaseReturnsAllCores) {
  CoreAllocator allocator(four_in_a_row());
  reserve(allocator, kA, {.num_cores = 10});
  EXPECT_EQ(allocator.num_free(), 6);
  allocator.release(kA);
  EXPECT_EQ(allocator.num_free(), 16);
  EXPECT_EQ(allocator.longest_free_range(), 16);
  allocator.release(kA);
  EXPECT_EQ(allocator.num_free(), 16);
}

TEST(CoreAllocator, OwnerReservesTwiceAndGivesOneReservationBack) {
  CoreAllocator allocator(four_in_a_row());
  const auto first = reserve(allocator, kA, {.num_cores = 3});
  const auto second = reserve(allocator, kA, {.num_cores = 4, .devices = ids({2})});
  const auto elsewhere = reserve(allocator, kB, {.num_cores = 4, .devices = ids({3})});
  const Status status = refusal(allocator, {.num_cores = 1, .devices = ids({2})});
  EXPECT_THAT(status.message(), HasSubstr("enough would be free without core group 1"));
  EXPECT_THAT(status.message(), Not(HasSubstr(" or "))) << "a group is named once";
  allocator.release(kA, elsewhere);
  EXPECT_EQ(allocator.owner_of(elsewhere.front()), kB) << "those of another owner";
  allocator.release(kA, second);
  allocator.release(kA, second);
  EXPECT_EQ(allocator.owner_of(second.front()), terms::CoreGroupId());
  EXPECT_EQ(allocator.owner_of(first.front()), kA);
  EXPECT_EQ(allocator.num_free(), 9);
  reserve(allocator, kA, {.num_cores = 4, .devices = ids({2})});
  allocator.release(kA);
  EXPECT_EQ(allocator.num_free(), 12) << "all that it has";
}

TEST(CoreAllocator, TakesTheShortestSufficientRange) {
  CoreAllocator allocator(make_chain(1, 10));
  reserve(allocator, kA, cores_from(1, 0, 6));  // leaves runs of 6 and 3
  EXPECT_THAT(reserve(allocator, kB, {.num_cores = 3}), ElementsAre(at(0, 7), at(0, 8), at(0, 9)));
  EXPECT_EQ(allocator.longest_free_range(), 6);
}

TEST(CoreAllocator, TakesAnEndOfTheRangeToKeepTheRestContiguous) {
  CoreAllocator allocator(make_chain(3, 4));
  reserve(allocator, kA, cores_from(2, 0, 0));
  // The last device of the run of 2 + 4 + 4 is an end and needs no second device.
  EXPECT_THAT(reserve(allocator, kB, {.num_cores = 4}),
              ElementsAre(at(2, 0), at(2, 1), at(2, 2), at(2, 3)));
  EXPECT_EQ(allocator.longest_free_range(), 6);
}

TEST(CoreAllocator, ZeroCoresMeansTheLargestRange) {
  CoreAllocator allocator(four_in_a_row());
  reserve(allocator, kA, cores_from(2, 1, 1));
  const auto cores = reserve(allocator, kB, {});
  EXPECT_EQ(cores.size(), 9U);
  EXPECT_EQ(cores.front(), at(1, 3));
  EXPECT_EQ(reserve(allocator, kC, {}).size(), 5U);
  EXPECT_EQ(refusal(allocator, {}).code(), Code::kResourceExhausted);
}

TEST(CoreAllocator, TakesTheRequestedStartCore) {
  CoreAllocator allocator(four_in_a_row());
  EXPECT_THAT(reserve(allocator, kA, cores_from(3, 1, 3)),
              ElementsAre(at(1, 3), at(2, 0), at(2, 1)));
  EXPECT_EQ(refusal(allocator, cores_from(2, 0, 9)).code(), Code::kNotFound);
  EXPECT_EQ(refusal(allocator, cores_from(2, 9, 0)).code(), Code::kNotFound);
  EXPECT_EQ(refusal(allocator, cores_from(5, 3, 0)).code(), Code::kFailedPrecondition);
}

TEST(CoreAllocator, CoreRangeWrapsAroundARing) {
  CoreAllocator allocator(make_ring(3, 2));
  reserve(allocator, kA, cores_from(2, 1, 0));
  EXPECT_THAT(reserve(allocator, kB, {.num_cores = 4}),
              ElementsAre(at(2, 0), at(2, 1), at(0, 0), at(0, 1)));
}

TEST(CoreAllocator, GivesWholeConnectedDevices) {
  CoreAllocator allocator(four_in_a_row());
  reserve(allocator, kA, cores_from(1, 1, 0));
  const auto cores = reserve(allocator, kB, {.num_devices = 2});
  EXPECT_EQ(cores.size(), 8U);
  EXPECT_EQ(cores.front(), at(2, 0));
  EXPECT_EQ(refusal(allocator, {.num_devices = 2}).code(), Code::kResourceExhausted);
  EXPECT_EQ(refusal(allocator, {.num_devices = 5}).code(), Code::kFailedPrecondition);
}

TEST(CoreAllocator, PicksByKindFeaturesIdAndAddress) {
  DeviceMap map = make_map({2, 2, 2}, {});
  map.devices[1].features = {"fp8"};
  map.devices[2].kind = "gpu";
  CoreAllocator allocator(map);
  EXPECT_EQ(reserve(allocator, kA, {.num_cores = 1, .kind = "gpu"})[0], at(2, 0));
  EXPECT_EQ(reserve(allocator, kB, {.num_cores = 1, .features = {"fp8"}})[0], at(1, 0));
  EXPECT_EQ(reserve(allocator, kC, {.num_cores = 1, .bus_addresses = {"00:01.0"}})[0], at(1, 1));
  EXPECT_EQ(
      reserve(allocator, terms::CoreGroupId(4), {.num_cores = 1, .devices = testing::ids({2})})[0],
      at(2, 1));
}

TEST(CoreAllocator, ErrorSaysWhenTheMachineLacksTheCores) {
  DeviceMap map = make_map({2}, {});
  map.devices[0].features = {"bf16"};
  CoreAllocator allocator(map);
  const Status status = refusal(allocator, {.num_cores = 1, .kind = "gpu"});
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("kind \"gpu\""));
  EXPECT_THAT(status.message(), HasSubstr("kinds: sim; features: bf16"));
  EXPECT_THAT(refusal(allocator, {.bus_addresses = {"77:00.0"}}).message(),
              HasSubstr("there are: 0000:00:00.0"));
}

TEST(CoreAllocator, ErrorNamesFreeCoresAndTheirHolders) {
  CoreAllocator allocator(make_chain(1, 8));
  reserve(allocator, kA, cores_from(2, 0, 2));
  reserve(allocator, kB, cores_from(2, 0, 6));
  const Status status = refusal(allocator, {.num_cores = 5});
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(status.message(),
              HasSubstr("4 cores free, the longest free range of eligible cores is 2"));
  EXPECT_THAT(status.message(), HasSubstr("without core group 1"));
  EXPECT_THAT(status.message(), ::testing::Not(HasSubstr("group 1 or 2")));
}

TEST(CoreAllocator, RefusesRequestsThatContradictThemselves) {
  CoreAllocator allocator(four_in_a_row());
  EXPECT_EQ(refusal(allocator, {.num_cores = -1}).code(), Code::kInvalidArgument);
  EXPECT_EQ(refusal(allocator, {.num_devices = 1, .first = at(0, 0)}).code(),
            Code::kInvalidArgument);
}

TEST(CoreAllocator, MemoryIsSharedByCoresAndReturned) {
  DeviceMap map = make_chain(2, 4);
  for (terms::Device& device : map.devices) device.memory_bytes = 1000;
  CoreAllocator allocator(map);
  const auto quarter = allocator.reserve(kA, {.num_cores = 1});
  ASSERT_TRUE(quarter.is_ok());
  EXPECT_EQ(quarter->memory[0].bytes, 250);
  const auto most = allocator.reserve(kB, {.num_cores = 1, .memory_bytes = 900});
  ASSERT_TRUE(most.is_ok());
  EXPECT_EQ(most->memory[0].device, terms::DeviceId(1));
  EXPECT_EQ(allocator.free_memory(terms::DeviceId(1)), 100);
  const Status status = refusal(allocator, {.num_cores = 1, .memory_bytes = 800});
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("the memory is not"));
  EXPECT_EQ(refusal(allocator, {.num_cores = 1, .memory_bytes = 1001}).code(),
            Code::kFailedPrecondition);
  allocator.release(kB);
  EXPECT_EQ(allocator.free_memory(terms::DeviceId(1)), 1000);
}

// Brute force: walks from every free core to its successors, without any notion of runs.
bool exists_by_walking(const DeviceMap& map, const CoreAllocator& allocator, std::size_t count) {
  const auto next = [&](const terms::CoreRef& core) -> std::optional<terms::CoreRef> {
    const terms::Device& device = *find_device(map, core.device);
    if (core.core + 1 < device.num_cores) return terms::CoreRef{core.device, core.core + 1};
    const std::size_t following = (core.device.index() + 1) % map.devices.size();
    const terms::Device& other = map.devices[following];
    const bool wraps = following == 0;
    if (wraps && map.devices.size() < 3) return std::nullopt;
    if (!are_linked(map, device.id, other.id)) return std::nullopt;
    if (wraps) {  // only if every step before is linked, too
      for (std::size_t i = 1; i < map.devices.size(); ++i) {
        if (!are_linked(map, terms::DeviceId(i - 1), terms::DeviceId(i))) return std::nullopt;
      }
    }
    return terms::CoreRef{other.id, 0};
  };
  for (const terms::Device& device : map.devices) {
    for (std::int32_t core = 0; core < device.num_cores; ++core) {
      std::optional<terms::CoreRef> place = terms::CoreRef{device.id, core};
      const terms::CoreRef start = *place;
      std::size_t found = 0;
      while (place && !allocator.owner_of(*place).is_valid() && found < count) {
        ++found;
        place = next(*place);
        if (place && *place == start) break;
      }
      if (found == count) return true;
    }
  }
  return false;
}

/// That the cores are what the request asked for, and free until now.
void expect_contiguous(const DeviceMap& map, const std::vector<terms::CoreRef>& cores) {
  for (std::size_t i = 1; i < cores.size(); ++i) {
    const terms::CoreRef& before = cores[i - 1];
    const terms::CoreRef& core = cores[i];
    if (before.device == core.device) {
      EXPECT_EQ(core.core, before.core + 1);
    } else {
      EXPECT_EQ(core.core, 0);
      EXPECT_EQ(before.core, find_device(map, before.device)->num_cores - 1);
      EXPECT_TRUE(are_linked(map, before.device, core.device));
    }
  }
}

DeviceMap random_map(std::mt19937& random) {
  std::vector<int> cores(1 + random() % 5);
  for (int& count : cores) count = static_cast<int>(1 + random() % 4);
  testing::Edges edges;
  for (int i = 1; i < static_cast<int>(cores.size()); ++i) {
    if (random() % 4 > 0) edges.emplace_back(i - 1, i);
  }
  if (cores.size() > 2 && random() % 2 == 0) {
    edges.emplace_back(0, static_cast<int>(cores.size()) - 1);
  }
  return make_map(cores, edges);
}

TEST(CoreAllocator, FailsOnlyWhereBruteForceFindsNoCoreRange) {
  std::mt19937 random(20);
  int num_granted = 0;
  int num_refused = 0;
  for (int round = 0; round < 300; ++round) {
    const DeviceMap map = random_map(random);
    CoreAllocator allocator(map);
    std::vector<terms::CoreGroupId> groups;
    for (int step = 0; step < 30; ++step) {
      if (!groups.empty() && random() % 3 == 0) {
        const std::size_t victim = random() % groups.size();
        allocator.release(groups[victim]);
        groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(victim));
        continue;
      }
      const std::size_t count = 1 + random() % 8;
      const bool exists = exists_by_walking(map, allocator, count);
      const terms::CoreGroupId owner(round * 100 + step);
      const auto got = allocator.reserve(owner, {.num_cores = static_cast<std::int32_t>(count)});
      ASSERT_EQ(got.is_ok(), exists) << "round " << round << ", step " << step;
      (exists ? num_granted : num_refused) += 1;
      if (!exists) continue;
      ASSERT_EQ(got->cores.size(), count);
      expect_contiguous(map, got->cores);
      for (const terms::CoreRef& core : got->cores) EXPECT_EQ(allocator.owner_of(core), owner);
      groups.push_back(owner);
    }
  }
  EXPECT_GT(num_granted, 1000);
  EXPECT_GT(num_refused, 1000);
}

TEST(CoreAllocator, NoCoreIsLostOverManyReservations) {
  std::mt19937 random(21);
  const DeviceMap map = make_ring(5, 3);
  CoreAllocator allocator(map);
  std::map<terms::CoreGroupId, std::size_t> held;
  for (int step = 0; step < 3000; ++step) {
    if (random() % 2 == 0 && !held.empty()) {
      const auto victim = std::next(held.begin(), static_cast<long>(random() % held.size()));
      allocator.release(victim->first);
      held.erase(victim);
    } else {
      const auto count = static_cast<std::int32_t>(random() % 6);
      const auto got = allocator.reserve(terms::CoreGroupId(step), {.num_cores = count});
      if (got.is_ok()) held[terms::CoreGroupId(step)] = got->cores.size();
    }
    std::size_t taken = 0;
    for (const auto& [group, count] : held) taken += count;
    ASSERT_EQ(allocator.num_free(), 15 - static_cast<std::int32_t>(taken));
  }
}

}  // namespace
}  // namespace sluice::topology
