#include "fleet/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fleet/testing/models.h"

namespace sluice::fleet {
namespace {

using testing::calibrated;
using ::testing::HasSubstr;
using testing::kMs;

TEST(Plan, FewestMachinesMeetTheGoalAndOneLessDoesNot) {
  const Trace trace = *generate_trace({.per_second = 1000, .seconds = 20}, "m");
  const auto models = *ModelsOfTrace::create({calibrated("m", 10 * kMs)}, trace, "");
  const Goal goal = {.p99_ns = 30 * kMs};
  const auto rows = *plan_fewest(models, trace, {}, goal);
  const PlanRow* found = fewest(rows);
  ASSERT_NE(found, nullptr);
  EXPECT_GT(found->num_machines, 10) << "as many would be busy all the time";
  EXPECT_LT(found->num_machines, 16);
  const std::vector<int> less = {found->num_machines - 1};
  EXPECT_FALSE(plan_for(models, trace, {}, goal, less)->front().meets_goal);
  EXPECT_LE(found->figures.p99_ns, goal.p99_ns);
}

TEST(Plan, GoalBelowARunIsMissedByAnyNumber) {
  const Trace trace = *generate_trace({.per_second = 100, .seconds = 5}, "m");
  const auto models = *ModelsOfTrace::create({calibrated("m", 10 * kMs)}, trace, "");
  const auto rows = *plan_fewest(models, trace, {}, {.p99_ns = 5 * kMs});
  EXPECT_EQ(fewest(rows), nullptr);
  EXPECT_LE(rows.back().num_machines, 128);
}

TEST(Plan, ModelsWithoutACalibrationNeedAStandIn) {
  Trace trace;
  trace.models = {"m", "other"};
  trace.arrivals = {{0, 0}, {1, 1}};
  CalibratedModel good = calibrated("m", 10 * kMs);
  EXPECT_THAT(ModelsOfTrace::create({good}, trace, "").status().to_string(),
              HasSubstr("\"other\""));
  EXPECT_THAT(ModelsOfTrace::create({good}, trace, "none").status().to_string(),
              HasSubstr("\"none\""));
  const auto models = *ModelsOfTrace::create({good}, trace, "m");
  EXPECT_EQ(models.num_stand_ins(), 1U);
  EXPECT_EQ(models.by_number()[1]->facts.name, "m");
}

TEST(Plan, ErrorIsThatOfTheModelsOfTheTrace) {
  Trace trace;
  trace.models = {"m"};
  trace.arrivals = {{0, 0}};
  CalibratedModel bad = calibrated("bad", 10 * kMs);
  bad.runs.front().simulated.p99_ns *= 2;
  const CalibratedModel good = calibrated("m", 10 * kMs);
  EXPECT_EQ(ModelsOfTrace::create({good, bad}, trace, "")->error(), 0);
  trace.models = {"bad"};
  EXPECT_EQ(ModelsOfTrace::create({good, bad}, trace, "")->error(), 1);
}

TEST(Plan, FewestIsWhereAllLargerOnesMeetTheGoalToo) {
  std::vector<PlanRow> rows(4);
  for (int i = 0; i < 4; ++i) rows[static_cast<std::size_t>(i)].num_machines = i + 1;
  EXPECT_EQ(fewest(rows), nullptr);
  rows[0].meets_goal = rows[2].meets_goal = rows[3].meets_goal = true;
  EXPECT_EQ(fewest(rows), &rows[2]);
  rows[3].meets_goal = false;
  EXPECT_EQ(fewest(rows), nullptr);
}

}  // namespace
}  // namespace sluice::fleet
