#include "topology/cores/core_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <thread>

#include "topology/testing/topology_testing.h"

namespace sluice::topology {
namespace {

using ::testing::ElementsAre;
using testing::four_in_a_row;
using ::testing::HasSubstr;
using testing::ids;

terms::CoreGroupId make_group(CoreGroups& groups, std::int32_t num_cores,
                              terms::GroupOrigin origin = terms::GroupOrigin::kExplicit) {
  const auto group = groups.create({.num_cores = num_cores}, origin);
  EXPECT_TRUE(group.is_ok()) << group.status().to_string();
  return group.is_ok() ? (*group)->id : terms::CoreGroupId();
}

TEST(CoreGroups, CreateReturnsAHandleThatFindsTheGroup) {
  CoreGroups groups(four_in_a_row());
  const terms::CoreGroupId id = make_group(groups, 5);
  const auto found = groups.find(id);
  ASSERT_TRUE(found.is_ok());
  EXPECT_EQ((*found)->cores.size(), 5U);
  EXPECT_EQ(groups.num_free_cores(), 11);
}

TEST(CoreGroups, SixCoresAndOneCoreLeaveTheRestUnused) {
  CoreGroups groups(four_in_a_row());
  const terms::CoreGroupId six = make_group(groups, 6);
  const terms::CoreGroupId one = make_group(groups, 1);
  EXPECT_TRUE(groups.add_model(six).is_ok());
  EXPECT_TRUE(groups.add_model(six).is_ok());
  EXPECT_TRUE(groups.add_model(one).is_ok());
  EXPECT_EQ(groups.num_free_cores(), 9);
  EXPECT_EQ(groups.list()[0].num_models, 2);
}

TEST(CoreGroups, CoreBelongsToOneGroupAtMost) {
  CoreGroups groups(four_in_a_row());
  std::set<terms::CoreRef> seen;
  for (const std::int32_t count : {3, 1, 4, 1, 5}) {
    const auto origin = count == 1 ? terms::GroupOrigin::kImplicit : terms::GroupOrigin::kExplicit;
    const auto group = groups.create({.num_cores = count}, origin);
    ASSERT_TRUE(group.is_ok());
    for (const terms::CoreRef& core : (*group)->cores) EXPECT_TRUE(seen.insert(core).second);
  }
  const auto taken =
      groups.create({.num_cores = 1, .first = *seen.begin()}, terms::GroupOrigin::kExplicit);
  EXPECT_EQ(taken.status().code(), Code::kResourceExhausted);
}

TEST(CoreGroups, ZeroCoresTakesTheLargestRangeAndReportsItsSize) {
  CoreGroups groups(four_in_a_row());
  const auto group = groups.create({}, terms::GroupOrigin::kExplicit);
  ASSERT_TRUE(group.is_ok());
  EXPECT_EQ((*group)->cores.size(), 16U);
}

TEST(CoreGroups, GroupWithModelsIsNotDestroyed) {
  CoreGroups groups(four_in_a_row());
  const terms::CoreGroupId id = make_group(groups, 4);
  ASSERT_TRUE(groups.add_model(id).is_ok());
  ASSERT_TRUE(groups.add_model(id).is_ok());
  ASSERT_TRUE(groups.remove_model(id).is_ok());
  const Status status = groups.destroy(id);
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("1 model on it"));
  EXPECT_EQ(groups.num_free_cores(), 12);
}

TEST(CoreGroups, DestroyAfterTheLastModelReturnsAllCores) {
  CoreGroups groups(four_in_a_row());
  const terms::CoreGroupId id = make_group(groups, 10);
  ASSERT_TRUE(groups.add_model(id).is_ok());
  ASSERT_TRUE(groups.remove_model(id).is_ok());
  EXPECT_EQ(groups.num_free_cores(), 6);
  EXPECT_TRUE(groups.destroy(id).is_ok());
  EXPECT_EQ(groups.num_free_cores(), 16);
}

TEST(CoreGroups, ImplicitGroupRefusesASecondModel) {
  CoreGroups groups(four_in_a_row());
  const terms::CoreGroupId id = make_group(groups, 2, terms::GroupOrigin::kImplicit);
  ASSERT_TRUE(groups.add_model(id).is_ok());
  const Status status = groups.add_model(id);
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("belongs to the model whose load made it"));
}

TEST(CoreGroups, ImplicitGroupIsDestroyedWithItsModel) {
  CoreGroups groups(four_in_a_row());
  const terms::CoreGroupId id = make_group(groups, 2, terms::GroupOrigin::kImplicit);
  ASSERT_TRUE(groups.add_model(id).is_ok());
  EXPECT_EQ(groups.destroy(id).code(), Code::kFailedPrecondition);
  EXPECT_TRUE(groups.remove_model(id).is_ok());
  EXPECT_EQ(groups.num_free_cores(), 16);
  EXPECT_EQ(groups.find(id).status().code(), Code::kNotFound);
}

TEST(CoreGroups, ExplicitGroupStaysWhenItsLastModelLeaves) {
  CoreGroups groups(four_in_a_row());
  const terms::CoreGroupId id = make_group(groups, 2);
  ASSERT_TRUE(groups.add_model(id).is_ok());
  ASSERT_TRUE(groups.remove_model(id).is_ok());
  EXPECT_TRUE(groups.find(id).is_ok());
  EXPECT_EQ(groups.num_free_cores(), 14);
}

TEST(CoreGroups, HandlesAreNeverGivenTwice) {
  CoreGroups groups(four_in_a_row());
  const terms::CoreGroupId first = make_group(groups, 2);
  ASSERT_TRUE(groups.destroy(first).is_ok());
  const terms::CoreGroupId second = make_group(groups, 2);
  EXPECT_NE(first, second);
  EXPECT_THAT(groups.destroy(first).message(), HasSubstr("it was destroyed"));
  EXPECT_THAT(groups.destroy(terms::CoreGroupId(77)).message(), HasSubstr("no group ever had"));
  EXPECT_EQ(groups.destroy(terms::CoreGroupId()).code(), Code::kNotFound);
  EXPECT_EQ(groups.remove_model(second).code(), Code::kFailedPrecondition);
}

TEST(CoreGroups, DevicesThatAreNotConnectedMakeNoGroup) {
  CoreGroups groups(four_in_a_row());
  const auto group = groups.create({.num_cores = 5, .devices = testing::ids({0, 2})},
                                   terms::GroupOrigin::kExplicit);
  EXPECT_EQ(group.status().code(), Code::kFailedPrecondition);
  EXPECT_TRUE(groups
                  .create({.num_cores = 12, .devices = testing::ids({0, 1, 2})},
                          terms::GroupOrigin::kExplicit)
                  .is_ok());
}

TEST(CoreGroups, ProcessorsThreadsAndMemoryMatchTheCores) {
  DeviceMap map = testing::make_chain(1, 4);
  map.devices[0].kind = "cpu";
  map.devices[0].backend.clear();
  map.devices[0].cpus = {{0, 4}, {1, 5}, {2, 6}, {3, 7}};
  map.devices[0].memory_bytes = 4000;
  CoreGroups groups(map);
  const auto group = groups.create({.num_cores = 2, .first = terms::CoreRef{terms::DeviceId(0), 1}},
                                   terms::GroupOrigin::kExplicit);
  ASSERT_TRUE(group.is_ok());
  EXPECT_THAT((*group)->cpus, ElementsAre(1, 2, 5, 6));
  EXPECT_EQ((*group)->num_threads, 2);
  EXPECT_EQ((*group)->budget->limit_bytes(), 2000);
  EXPECT_THAT((*group)->budget->reserve("constants", 2001).message(), HasSubstr("core group 1"));
}

TEST(CoreGroups, WithoutKnownMemoryTheBudgetHasNoLimit) {
  CoreGroups groups(four_in_a_row());
  const auto group = groups.create({.num_cores = 1}, terms::GroupOrigin::kExplicit);
  ASSERT_TRUE(group.is_ok());
  EXPECT_EQ((*group)->budget->limit_bytes(), MemoryBudget::kUnlimited);
  EXPECT_EQ((*group)->num_threads, 0);
}

TEST(CoreGroups, ExtraCoresAreTheGroupsUntilTheLastHolderDropsThem) {
  CoreGroups groups(four_in_a_row());
  const terms::CoreGroupId id = make_group(groups, 4);
  const terms::CoreRequest two = {.num_cores = 2, .parts = {2}, .devices = ids({2})};
  auto extra = groups.extend(id, two);
  ASSERT_TRUE(extra.is_ok()) << extra.status().to_string();
  EXPECT_THAT(**extra, ElementsAre(terms::CoreRef{terms::DeviceId(2), 0},
                                   terms::CoreRef{terms::DeviceId(2), 1}));
  EXPECT_EQ(groups.num_free_cores(), 10);
  EXPECT_EQ(groups.list()[0].cores.size(), 6U);
  EXPECT_EQ(groups.cores_of(**groups.find(id)).back(), (*extra)->back());

  auto again = groups.extend(id, two);
  ASSERT_TRUE(again.is_ok());
  EXPECT_EQ(**again, **extra) << "models of a group share them";
  EXPECT_EQ(groups.num_free_cores(), 10);
  const terms::CoreGroupId other = make_group(groups, 1);
  const auto own = groups.extend(other, two);
  ASSERT_TRUE(own.is_ok());
  EXPECT_NE(**own, **extra) << "groups do not";
  EXPECT_EQ(
      groups.extend(other, {.num_cores = 4, .parts = {4}, .devices = ids({2})}).status().code(),
      Code::kResourceExhausted);

  int num_returns = 0;
  groups.on_release([&] { ++num_returns; });
  *extra = nullptr;
  EXPECT_EQ(num_returns, 0);
  *again = nullptr;
  EXPECT_EQ(num_returns, 1) << "waiters hear of it";
  EXPECT_EQ(groups.list()[0].cores.size(), 4U);
  EXPECT_EQ(groups.num_free_cores(), 9);
  groups.on_release({});
}

TEST(CoreGroups, DestroyedGroupGivesItsExtraCoresBackOnce) {
  CoreGroups groups(four_in_a_row());
  const terms::CoreGroupId id = make_group(groups, 4);
  auto extra = groups.extend(id, {.num_cores = 2, .parts = {2}, .devices = ids({2})});
  ASSERT_TRUE(extra.is_ok());
  const auto group = *groups.find(id);
  EXPECT_TRUE(groups.destroy(id).is_ok());
  EXPECT_EQ(groups.num_free_cores(), 16);
  EXPECT_EQ(groups.cores_of(*group), group->cores);
  const auto next =
      groups.create({.num_cores = 2, .devices = ids({2})}, terms::GroupOrigin::kExplicit);
  ASSERT_TRUE(next.is_ok());
  *extra = nullptr;
  EXPECT_EQ(groups.num_free_cores(), 14) << "they are another group's now";
  EXPECT_EQ(groups.extend(id, {.num_cores = 1}).status().code(), Code::kNotFound);
}

TEST(CoreGroups, ListenerIsCalledForEveryReturn) {
  CoreGroups groups(four_in_a_row());
  int heard = 0;
  groups.on_release([&] { ++heard; });
  const terms::CoreGroupId id = make_group(groups, 2);
  const terms::CoreGroupId implicit = make_group(groups, 2, terms::GroupOrigin::kImplicit);
  ASSERT_TRUE(groups.add_model(implicit).is_ok());
  EXPECT_EQ(heard, 0);
  ASSERT_TRUE(groups.destroy(id).is_ok());
  ASSERT_TRUE(groups.remove_model(implicit).is_ok());
  EXPECT_EQ(heard, 2);
  groups.on_release({});
}

TEST(CoreGroups, ThreadsNeverShareACore) {
  CoreGroups groups(four_in_a_row());
  std::vector<std::jthread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&groups, seed] {
      std::mt19937 random(seed);
      for (int step = 0; step < 200; ++step) {
        const auto group = groups.create({.num_cores = static_cast<std::int32_t>(random() % 6)},
                                         terms::GroupOrigin::kExplicit);
        if (!group.is_ok()) continue;
        EXPECT_TRUE(groups.destroy((*group)->id).is_ok());
      }
    });
  }
  for (int look = 0; look < 200; ++look) {
    std::set<terms::CoreRef> seen;
    for (const auto& listed : groups.list()) {
      for (const terms::CoreRef& core : listed.group->cores) EXPECT_TRUE(seen.insert(core).second);
    }
  }
  threads.clear();
  EXPECT_EQ(groups.num_free_cores(), 16);
}

TEST(CoreGroups, UnfitDeviceGetsNoNewGroupAndKeepsItsOwn) {
  CoreGroups groups(four_in_a_row());
  const auto kept = groups.create({.num_cores = 2, .first = terms::CoreRef{terms::DeviceId(1), 0}},
                                  terms::GroupOrigin::kExplicit);
  ASSERT_TRUE(kept.is_ok());
  groups.set_unfit(terms::DeviceId(1), "it is too hot");
  EXPECT_TRUE(groups.find((*kept)->id).is_ok());
  EXPECT_FALSE(groups.is_fit(terms::DeviceId(1)));
  EXPECT_EQ(groups.num_free_cores(), 12);
  const auto refused =
      groups.create({.num_cores = 1, .devices = testing::ids({1})}, terms::GroupOrigin::kExplicit);
  EXPECT_EQ(refused.status().code(), Code::kResourceExhausted);
  EXPECT_THAT(refused.status().message(),
              HasSubstr("device 1 (0000:00:1d.0) gets no new group: it is too hot"));
  const auto wide = groups.create({.num_cores = 8}, terms::GroupOrigin::kExplicit);
  ASSERT_TRUE(wide.is_ok());
  EXPECT_EQ((*wide)->cores.front().device, terms::DeviceId(2)) << "no range crosses device 1";
  groups.set_unfit(terms::DeviceId(1), "");
  EXPECT_EQ(groups.num_free_cores(), 6);
  EXPECT_TRUE(
      groups.create({.num_cores = 2, .devices = testing::ids({1})}, terms::GroupOrigin::kExplicit)
          .is_ok());
}

TEST(CoreGroups, WaitersHearOnlyOfADeviceThatWasUnfit) {
  CoreGroups groups(four_in_a_row());
  int num_told = 0;
  groups.on_release([&] { ++num_told; });
  groups.set_unfit(terms::DeviceId(1), "");
  EXPECT_EQ(num_told, 0) << "it was fit before";
  groups.set_unfit(terms::DeviceId(1), "it is too hot");
  EXPECT_EQ(num_told, 0);
  groups.set_unfit(terms::DeviceId(1), "");
  groups.set_unfit(terms::DeviceId(1), "");
  EXPECT_EQ(num_told, 1);
}

}  // namespace
}  // namespace sluice::topology
