#include "plan/tasks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace sluice::plan {
namespace {

using ::testing::ElementsAre;

/// Steps that each write the value of their own number and read earlier ones, on group 0 with two
/// lanes, 1 and 2.
class Divide : public ::testing::Test {
 protected:
  void step(std::vector<std::int32_t> reads, double work_ns = 1e7, std::int32_t group = 0) {
    steps_.push_back({std::move(reads), {static_cast<std::int32_t>(steps_.size())}, 0, false});
    sites_.push_back({group, false, work_ns});
  }

  TaskGraph divide_all() {
    const std::vector<Value> values(steps_.size(), Value{64, Source::kArena});
    storage_ = assign_storage(values, steps_);
    auto graph = divide(steps_, storage_, sites_, lanes_);
    EXPECT_TRUE(graph.has_value());
    return std::move(*graph);
  }

  std::vector<Step> steps_;
  std::vector<StepSite> sites_;
  std::vector<std::vector<std::int32_t>> lanes_ = {{1, 2}, {}, {}, {}};
  StorageAssignment storage_;
};

TEST_F(Divide, ChainIsOneTaskOnAllCores) {
  step({});
  step({0});
  step({1});
  const TaskGraph graph = divide_all();
  EXPECT_THAT(graph.task_of_step, ElementsAre(0, 0, 0));
  EXPECT_EQ(graph.tasks[0].lane, 0);
}

TEST_F(Divide, EvenBranchesRunOnLanesOfTheirOwn) {
  step({});      // 0: stem
  step({0});     // 1: left
  step({0});     // 2: right
  step({1});     // 3: left
  step({2});     // 4: right
  step({3, 4});  // 5: join
  const TaskGraph graph = divide_all();
  EXPECT_THAT(graph.task_of_step, ElementsAre(0, 1, 2, 1, 2, 3));
  EXPECT_EQ(graph.tasks[0].lane, 0);
  EXPECT_NE(graph.tasks[1].lane, graph.tasks[2].lane);
  EXPECT_GT(graph.tasks[1].lane, 0);
  EXPECT_EQ(graph.tasks[3].lane, 0);
  EXPECT_THAT(graph.tasks[3].after, ElementsAre(1, 2));
}

TEST_F(Divide, UnevenBranchesStayOneTask) {
  step({});
  step({0}, 1e8);
  step({0}, 5e5);
  step({1, 2});
  EXPECT_THAT(divide_all().task_of_step, ElementsAre(0, 0, 0, 0));
}

TEST_F(Divide, ShortBranchesStayOneTask) {
  step({}, 5e3);
  step({0}, 5e3);
  step({0}, 5e3);
  step({1, 2}, 5e3);
  EXPECT_THAT(divide_all().task_of_step, ElementsAre(0, 0, 0, 0));
}

TEST_F(Divide, BranchesWithoutLanesStayOneTask) {
  lanes_ = {{}};
  step({});
  step({0});
  step({0});
  step({1, 2});
  EXPECT_THAT(divide_all().task_of_step, ElementsAre(0, 0, 0, 0));
}

TEST_F(Divide, GroupsOverlapWithoutLanes) {
  lanes_ = {{}, {}};
  step({});
  step({0}, 1e7, 1);
  step({0}, 1e7, 0);
  step({1, 2});
  const TaskGraph graph = divide_all();
  EXPECT_THAT(graph.task_of_step, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(graph.tasks[1].lane, 1);
}

TEST_F(Divide, WholeStepsStayTogether) {
  lanes_ = {{}, {}};
  step({});
  step({0}, 1e7, 1);
  step({0}, 1e7, 1);
  step({1, 2});
  sites_[1].is_whole = sites_[2].is_whole = true;
  EXPECT_THAT(divide_all().task_of_step, ElementsAre(0, 1, 1, 2));
}

TEST_F(Divide, WriterFollowsTheReadersOfWhatItOverwrites) {
  step({});   // 0: written here, read by 1 and 2
  step({0});  // 1: on another group
  step({0});  // 2: overwrites 0
  step({1, 2});
  sites_[1].group = 3;
  steps_[2].in_place_reads = 1;
  const TaskGraph graph = divide_all();
  const TaskOrder order(graph.tasks);
  EXPECT_TRUE(order.is_before(graph.task_of_step[1], graph.task_of_step[2]));
}

TEST_F(Divide, TasksFollowWhatTheyReadInRandomGraphs) {
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    steps_.clear();
    sites_.clear();
    for (std::int32_t i = 0; i < 40; ++i) {
      std::vector<std::int32_t> reads;
      for (std::int32_t r = 0; r < 2 && i > 0; ++r) {
        reads.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(i)));
      }
      step(std::move(reads), 1e5 + random() % 1000000, random() % 4 == 0 ? 3 : 0);
      steps_.back().in_place_reads = random() % 4;
    }
    const TaskGraph graph = divide_all();
    const TaskOrder order(graph.tasks);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const std::int32_t here = graph.task_of_step[i];
      for (const std::int32_t read : steps_[i].reads) {
        const std::int32_t there = graph.task_of_step[static_cast<std::size_t>(read)];
        EXPECT_TRUE(here == there || order.is_before(there, here)) << round;
      }
      for (const std::int32_t other : graph.tasks[static_cast<std::size_t>(here)].after) {
        EXPECT_LT(other, here) << round;
      }
    }
  }
}

}  // namespace
}  // namespace sluice::plan
