#include "runtime/model/load_plan.h"

#include <gtest/gtest.h>

#include "terms/runtime_code.h"

namespace sluice::runtime {
namespace {

std::vector<terms::CoreRef> cores(std::vector<std::pair<int, int>> refs) {
  std::vector<terms::CoreRef> made;
  for (const auto& [device, core] : refs) made.push_back({terms::DeviceId(device), core});
  return made;
}

const std::vector<SegmentNeed> kFourAndOne = {{"front", 4, true}, {"back", 1, true}};

TEST(LoadPlan, NormalModeTakesTheSumOfAllSegmentsCores) {
  EXPECT_EQ(cores_for_normal(kFourAndOne), 5);
  const auto plan = plan_load(kFourAndOne, cores({{0, 0}, {0, 1}, {0, 2}, {0, 3}, {1, 0}}), true);
  ASSERT_TRUE(plan.is_ok()) << plan.status().to_string();
  EXPECT_EQ(plan->mode, terms::LoadMode::kNormal);
  EXPECT_EQ(plan->cores[0].size(), 4U);
  EXPECT_EQ(plan->cores[1], cores({{1, 0}}));
}

TEST(LoadPlan, SharedModeTakesTheCoresOfTheLargestSegment) {
  EXPECT_EQ(cores_for_shared(kFourAndOne), 4);
  const auto group = cores({{0, 0}, {0, 1}, {0, 2}, {0, 3}});
  const auto plan = plan_load(kFourAndOne, group, true);
  ASSERT_TRUE(plan.is_ok()) << plan.status().to_string();
  EXPECT_EQ(plan->mode, terms::LoadMode::kShared);
  EXPECT_EQ(plan->cores[0], plan->cores[1]);
}

TEST(LoadPlan, FewerCoresThanTheLargestSegmentAreRefused) {
  const auto plan = plan_load(kFourAndOne, cores({{0, 0}, {0, 1}, {0, 2}}), true);
  EXPECT_EQ(terms::runtime_code_of(plan.status()), RuntimeCode::kNotEnoughCores);
}

TEST(LoadPlan, ImplicitLoadsAreNeverShared) {
  const auto group = cores({{0, 0}, {0, 1}, {0, 2}, {0, 3}});
  EXPECT_EQ(terms::runtime_code_of(plan_load(kFourAndOne, group, false).status()),
            RuntimeCode::kNotEnoughCores);
}

TEST(LoadPlan, SingleSegmentNeedsEqualCoresInBothModes) {
  const std::vector<SegmentNeed> one = {{"all", 3, true}};
  EXPECT_EQ(cores_for_normal(one), cores_for_shared(one));
}

TEST(LoadPlan, SegmentsCoresLieOnOneDevice) {
  const std::vector<SegmentNeed> two = {{"a", 1, true}, {"b", 2, true}};
  const auto plan = plan_load(two, cores({{0, 0}, {0, 1}, {1, 0}, {1, 1}}), true);
  ASSERT_TRUE(plan.is_ok());
  EXPECT_EQ(plan->cores[1], cores({{1, 0}, {1, 1}}));
  const std::vector<SegmentNeed> wide = {{"a", 3, true}};
  EXPECT_FALSE(plan_load(wide, cores({{0, 0}, {0, 1}, {1, 0}, {1, 1}}), true).is_ok());
}

TEST(LoadPlan, SegmentOfAllCoresTakesThoseOfOneDevice) {
  const std::vector<SegmentNeed> all = {{"texts", 0, true}};
  EXPECT_TRUE(takes_all_cores(all));
  EXPECT_FALSE(takes_all_cores(kFourAndOne));
  for (const auto& group : {cores({{0, 3}}), cores({{0, 0}, {0, 1}, {0, 2}})}) {
    const auto plan = plan_load(all, group, false);
    ASSERT_TRUE(plan.is_ok()) << plan.status().to_string();
    EXPECT_EQ(plan->cores[0], group);
  }
  const auto two_devices = plan_load(all, cores({{0, 0}, {1, 0}, {1, 1}, {2, 0}}), false);
  ASSERT_TRUE(two_devices.is_ok());
  EXPECT_EQ(two_devices->cores[0], cores({{1, 0}, {1, 1}}));
}

TEST(LoadPlan, SegmentsOfTheHostTakeNoCores) {
  const std::vector<SegmentNeed> mixed = {{"host", 1, false}, {"device", 2, true}};
  EXPECT_EQ(cores_for_normal(mixed), 2);
  const auto plan = plan_load(mixed, cores({{0, 0}, {0, 1}}), true);
  ASSERT_TRUE(plan.is_ok());
  EXPECT_EQ(plan->mode, terms::LoadMode::kNormal);
  EXPECT_TRUE(plan->cores[0].empty());
}

}  // namespace
}  // namespace sluice::runtime
