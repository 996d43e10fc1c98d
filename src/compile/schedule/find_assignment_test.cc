#include "compile/schedule/find_assignment.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compile/schedule/makespan.h"
#include "compile/testing/schedule_problems.h"

namespace sluice::compile {
namespace {

/// Two tasks in a row: device 0 takes 10 and 10 ns, device 1 takes 4 and 100; a copy takes 3.
ScheduleProblem two_tasks() {
  ScheduleProblem problem;
  problem.tensors = {{-1, 8, false}, {0, 8, false}, {1, 8, true}};
  problem.tasks = {{{10, 4}, {0}, {1}, 16}, {{10, 100}, {1}, {2}, 16}};
  problem.devices = {{}, {}};
  problem.transfers = {{{}, {3, 0}, {}}, {{3, 0}, {}, {3, 0}}, {{}, {3, 0}, {}}};
  return problem;
}

TEST(Makespan, SequentialPlayAddsTasksAndCopies) {
  const ScheduleProblem problem = two_tasks();
  MakespanModel model(problem);
  EXPECT_EQ(model.makespan_ns({0, 0}), 20);
  EXPECT_EQ(model.makespan_ns({1, 0}), 3 + 4 + 3 + 10);
  EXPECT_EQ(model.makespan_ns({1, 1}), 3 + 4 + 100 + 3);
}

TEST(Makespan, BranchesOnTwoDevicesOverlap) {
  ScheduleProblem problem;
  problem.tensors = {{-1, 8, false}, {0, 8, true}, {1, 8, true}};
  problem.tasks = {{{10, 10}, {0}, {1}, 0}, {{10, 10}, {0}, {2}, 0}};
  problem.devices = {{}, {}};
  problem.transfers.assign(3, std::vector<TransferCost>(3));
  problem.is_sequential = false;
  MakespanModel model(problem);
  EXPECT_EQ(model.makespan_ns({0, 0}), 20);
  EXPECT_EQ(model.makespan_ns({0, 1}), 10);
}

TEST(Makespan, TensorReadTwiceOnADeviceIsCopiedOnce) {
  ScheduleProblem problem = two_tasks();
  problem.tasks[1].inputs = {0, 1};
  MakespanModel model(problem);
  EXPECT_EQ(model.makespan_ns({1, 1}), 3 + 4 + 100 + 3);
}

TEST(Makespan, DeviceWithoutMemoryForItsConstantsIsInfinite) {
  ScheduleProblem problem = two_tasks();
  problem.devices[0].memory_bytes = 32 + 16;  // both constants, and two of the three tensors
  MakespanModel model(problem);
  EXPECT_EQ(model.makespan_ns({0, 0}), 20);
  EXPECT_EQ(model.peak_bytes()[0], 48);
  problem.devices[0].memory_bytes = 47;
  EXPECT_EQ(model.makespan_ns({0, 0}), kCannotRun);
}

TEST(FindAssignment, TaskWithoutKernelElsewhereStaysOnItsDevice) {
  ScheduleProblem problem = two_tasks();
  problem.tasks[0].cost_ns = {kCannotRun, 4};
  const ScheduleOutcome outcome = find_assignment(problem);
  EXPECT_EQ(outcome.assignment, (Assignment{1, 0}));
  EXPECT_EQ(outcome.single_device_ns[0], kCannotRun);
}

TEST(FindAssignment, SameProblemGivesSameAssignment) {
  const auto machines = testing::schedule_machines();
  const ScheduleProblem problem = testing::schedule_problem("random 1", machines[1]);
  EXPECT_EQ(find_assignment(problem).assignment, find_assignment(problem).assignment);
}

/// Every graph on every machine: within 10 % of a long random search, never worse than one device.
TEST(FindAssignment, ComesNearRandomSearchOnAllMachinesAndGraphs) {
  for (const auto& machine : testing::schedule_machines()) {
    for (const std::string& graph : testing::schedule_graphs()) {
      const ScheduleProblem problem = testing::schedule_problem(graph, machine);
      const ScheduleOutcome outcome = find_assignment(problem);
      EXPECT_LE(outcome.makespan_ns, testing::random_search_ns(problem, 300) * 1.1)
          << graph << " on " << machine.name;
      EXPECT_LE(outcome.makespan_ns, *std::ranges::min_element(outcome.single_device_ns))
          << graph << " on " << machine.name;
      EXPECT_LT(outcome.makespan_ns, kCannotRun) << graph << " on " << machine.name;
    }
  }
}

}  // namespace
}  // namespace sluice::compile
