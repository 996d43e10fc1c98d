#include "runtime/statistics/group_statistics.h"

#include <gtest/gtest.h>

namespace sluice::runtime {
namespace {

const terms::DeviceId kFirst(0);
const terms::DeviceId kSecond(1);

std::shared_ptr<ModelStatistics> two_lanes() {
  return std::make_shared<ModelStatistics>(
      std::vector<std::vector<LaneCores>>{{}, {{kFirst, 4}}, {{kSecond, 1}}});
}

TEST(ModelStatisticsLanes, KernelsTimeCountsForEveryCoreOfItsLane) {
  const auto model = two_lanes();
  model->add_lane_busy(0, 1000);  // a copy: no core is busy
  model->add_lane_busy(1, 100);
  model->add_lane_busy(2, 30);
  model->add_lane_busy(7, 1);  // no such lane
  const auto busy = model->snapshot().core_busy_ns;
  EXPECT_EQ(busy.at(kFirst), 400);
  EXPECT_EQ(busy.at(kSecond), 30);
}

TEST(GroupStatistics, AddsUpItsModels) {
  GroupStatistics group;
  const auto first = two_lanes();
  const auto second = two_lanes();
  group.add(first);
  group.add(second);
  first->count_answer(RuntimeCode::kOk);
  second->count_answer(RuntimeCode::kTimeout);
  second->record({1, 2, 3, 4});
  second->add_lane_busy(1, 10);
  const ModelStatisticsSnapshot sum = group.snapshot();
  EXPECT_EQ(sum.num_answered(), 2);
  EXPECT_EQ(sum.compute.count(), 1);
  EXPECT_EQ(sum.core_busy_ns.at(kFirst), 40);
}

TEST(GroupStatistics, TotalsKeepTheNumbersOfUnloadedModels) {
  GroupStatistics group;
  const auto model = two_lanes();
  group.add(model);
  model->count_answer(RuntimeCode::kOk);
  group.retire(*model);
  group.retire(*model);
  EXPECT_EQ(group.snapshot().num_answered(), 1);
  model->count_answer(RuntimeCode::kOk);
  EXPECT_EQ(group.snapshot().num_answered(), 1) << "what it does elsewhere is not the group's";
}

}  // namespace
}  // namespace sluice::runtime
