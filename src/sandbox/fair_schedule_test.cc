#include "sandbox/fair_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace sluice::sandbox {
namespace {

FunctionId id(int value) { return FunctionId(value); }

TEST(FairSchedule, BusyFunctionsShareTimeByTheirWeightsWhateverTheirTurnsTake) {
  FairSchedule schedule;
  const std::vector<int> shares = {1, 2, 4, 13};
  const std::vector<std::int64_t> turn_ns = {5000, 300, 70, 1000};
  std::vector<double> used(4);
  for (int i = 0; i < 4; ++i) {
    schedule.add(id(i), shares[static_cast<std::size_t>(i)], 0);
    schedule.set_ready(id(i), true);
  }
  double total = 0;
  while (total < 1e7) {
    const FunctionId next = *schedule.next();
    schedule.charge(next, turn_ns[next.index()]);
    used[next.index()] += static_cast<double>(turn_ns[next.index()]);
    total += static_cast<double>(turn_ns[next.index()]);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(used[i] / total, shares[i] / 20.0, 0.05 * shares[i] / 20.0) << i;
  }
}

TEST(FairSchedule, IdleFunctionSavesUpNoClaim) {
  FairSchedule schedule;
  schedule.add(id(0), 1, 0);
  schedule.add(id(1), 1, 0);
  schedule.set_ready(id(0), true);
  for (int i = 0; i < 1000; ++i) schedule.charge(id(0), 100);
  schedule.set_ready(id(1), true);
  int num_turns_of_1 = 0;
  for (int i = 0; i < 100; ++i) {
    const FunctionId next = *schedule.next();
    num_turns_of_1 += next == id(1) ? 1 : 0;
    schedule.charge(next, 100);
  }
  EXPECT_NEAR(num_turns_of_1, 50, 1);
}

TEST(FairSchedule, HigherPriorityRunsFirstAndALowerOneKeepsNoClaimFromItsWait) {
  FairSchedule schedule;
  schedule.add(id(0), 1, 0);
  schedule.add(id(1), 1, 5);
  schedule.set_ready(id(0), true);
  schedule.set_ready(id(1), true);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(schedule.next(), id(1));
    schedule.charge(id(1), 1000);
  }
  schedule.set_ready(id(1), false);
  EXPECT_EQ(schedule.next(), id(0));
  schedule.set_ready(id(0), false);
  EXPECT_EQ(schedule.next(), std::nullopt);
}

/// In each window in which two functions of one priority are both ready without a break, their time
/// per share differs by at most one turn of each (the bound of start-time fair queueing).
TEST(FairSchedule, KeepsTheBoundOfFairQueueingIn100000RandomOperations) {
  constexpr int kFunctions = 12;
  constexpr std::int64_t kMaxTurnNs = 1000;
  struct Model {
    int share = 1;
    int priority = 0;
    bool is_there = false;
    bool is_ready = false;
    double used_per_share = 0;
  };
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  FairSchedule schedule;
  std::vector<Model> models(kFunctions);
  // since[i][j]: the difference of used_per_share when both became ready.
  std::vector<std::vector<double>> since(kFunctions, std::vector<double>(kFunctions));
  const auto begin_windows = [&](int i) {
    for (int j = 0; j < kFunctions; ++j) {
      since[i][j] = models[i].used_per_share - models[j].used_per_share;
      since[j][i] = -since[i][j];
    }
  };
  for (int step = 0; step < 100'000; ++step) {
    const int i = below(kFunctions);
    Model& model = models[i];
    const int what = below(20);
    if (what == 0) {
      if (model.is_there) schedule.remove(id(i));
      model = {1 + below(8), below(2), !model.is_there, false, 0};
      if (model.is_there) schedule.add(id(i), model.share, model.priority);
    } else if (what < 4 && model.is_there) {
      model.is_ready = !model.is_ready;
      schedule.set_ready(id(i), model.is_ready);
      begin_windows(i);
    }
    const auto next = schedule.next();
    const bool is_any = std::ranges::any_of(models, &Model::is_ready);
    ASSERT_EQ(next.has_value(), is_any);
    if (!is_any) continue;
    Model& running = models[next->index()];
    ASSERT_TRUE(running.is_ready);
    for (const Model& other : models) {
      ASSERT_FALSE(other.is_ready && other.priority > running.priority);
    }
    const int used_ns = 1 + below(kMaxTurnNs);
    schedule.charge(*next, used_ns);
    running.used_per_share += static_cast<double>(used_ns) / running.share;
    for (int j = 0; j < kFunctions; ++j) {
      const Model& other = models[j];
      if (!other.is_ready || other.priority != running.priority) continue;
      const double gap = running.used_per_share - other.used_per_share -
                         since[next->index()][static_cast<std::size_t>(j)];
      ASSERT_LE(std::abs(gap), 2.0 * kMaxTurnNs) << "step " << step;
    }
  }
}

}  // namespace
}  // namespace sluice::sandbox
