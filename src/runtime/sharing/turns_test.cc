#include "runtime/sharing/turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <vector>

#include "terms/function.h"

namespace sluice::runtime {
namespace {

using Id = Turns::Id;

constexpr std::int64_t kMs = 1'000'000;

/// Each turn is one run.
constexpr TurnOptions kRunByRun = {.min_residency_ns = 0, .max_residency_ns = 0};

void wait(Turns& turns, const std::vector<Id>& members) {
  for (const Id id : members) turns.set_waiting(id, true);
}

/// Members that always have requests, one at a time, of 1 ms or what `request_ns` says.
class Busy {
 public:
  explicit Busy(Turns& turns) : turns_(turns) {}

  void run(const std::vector<Id>& waiting, int num_requests) {
    wait(turns_, waiting);
    for (int i = 0; i < num_requests; ++i) {
      turns_.update(now_ns_, /*is_occupied=*/false);
      const Id holder = turns_.holder().value();
      const std::int64_t ns = request_ns.contains(holder) ? request_ns[holder] : kMs;
      now_ns_ += ns;
      turns_.charge(ns, 1);
      share[holder] += 1;
    }
  }

  std::map<Id, std::int64_t> request_ns;
  std::map<Id, int> share;  ///< of requests

 private:
  Turns& turns_;
  std::int64_t now_ns_ = 0;
};

TEST(Turns, BusyModelsShareInProportionToTheirWeights) {
  Turns turns({});
  const std::vector<Id> all = {turns.add(1), turns.add(3), turns.add(1)};
  Busy busy(turns);
  busy.run(all, 1000);
  EXPECT_NEAR(busy.share[all[0]], 200, 10);
  EXPECT_NEAR(busy.share[all[1]], 600, 10);
  EXPECT_NEAR(busy.share[all[2]], 200, 10);
}

TEST(Turns, BusyFunctionsShareTimeByTheirWeightsWhateverARunTakes) {
  Turns turns(kRunByRun);
  const std::vector<int> weights = {1, 2, 4, 13};
  const std::vector<std::int64_t> request_ns = {5000, 300, 70, 1000};
  Busy busy(turns);
  std::vector<Id> all;
  for (std::size_t i = 0; i < 4; ++i) {
    all.push_back(turns.add(weights[i]));
    busy.request_ns[all[i]] = request_ns[i];
  }
  busy.run(all, 50'000);
  double total = 0;
  for (const Id id : all) total += static_cast<double>(busy.request_ns[id]) * busy.share[id];
  for (std::size_t i = 0; i < 4; ++i) {
    const double used = static_cast<double>(request_ns[i]) * busy.share[all[i]];
    EXPECT_NEAR(used / total, weights[i] / 20.0, 0.05 * weights[i] / 20.0) << i;
  }
}

TEST(Turns, RunsShorterThanAWeightAreNotForgotten) {
  Turns turns(kRunByRun);
  const std::vector<Id> all = {turns.add(terms::kMaxWeight), turns.add(terms::kMaxWeight)};
  Busy busy(turns);
  busy.request_ns = {{all[0], 1}, {all[1], 3}};
  busy.run(all, 40'000);
  EXPECT_NEAR(busy.share[all[0]], 30'000, 1000);
}

TEST(Turns, TurnLastsAsLongAsTheResidencyWhileOthersWait) {
  Turns turns({.min_residency_ns = 10 * kMs});
  const std::vector<Id> all = {turns.add(1), turns.add(1)};
  Busy(turns).run(all, 100);
  EXPECT_EQ(turns.num_switches(), 9);
}

TEST(Turns, ModelWithoutRequestsGivesItsTurnUpAtOnce) {
  Turns turns({.min_residency_ns = 1000 * kMs});
  const Id a = turns.add(1);
  const Id b = turns.add(1);
  turns.set_waiting(a, true);
  turns.update(0, false);
  EXPECT_EQ(turns.holder(), a);
  turns.set_waiting(a, false);
  turns.set_waiting(b, true);
  EXPECT_FALSE(turns.update(1, /*is_occupied=*/true)) << "its last request runs";
  EXPECT_TRUE(turns.update(2, /*is_occupied=*/false));
  EXPECT_EQ(turns.holder(), b);
}

TEST(Turns, TurnPassesWhenRunningRequestsHaveEnded) {
  Turns turns({.min_residency_ns = kMs});
  const Id a = turns.add(1);
  const Id b = turns.add(1);
  wait(turns, {a, b});
  turns.update(0, false);
  turns.charge(kMs, 1);
  turns.charge(kMs, 1);
  EXPECT_FALSE(turns.update(2 * kMs, /*is_occupied=*/true));
  EXPECT_FALSE(turns.may_start());
  EXPECT_TRUE(turns.update(3 * kMs, /*is_occupied=*/false));
  EXPECT_EQ(turns.holder(), b);
  EXPECT_TRUE(turns.may_start());
}

TEST(Turns, IdleTimeIsNoCredit) {
  Turns turns({});
  const Id a = turns.add(1);
  const Id b = turns.add(1);
  Busy busy(turns);
  busy.run({a}, 1000);
  busy.share.clear();
  busy.run({a, b}, 100);
  EXPECT_NEAR(busy.share[a], 50, 3) << "a computed alone for a second, and owes nothing for it";
}

TEST(Turns, ExpensiveSwitchesMakeTurnsLonger) {
  Turns turns({});
  const std::vector<Id> all = {turns.add(1), turns.add(1)};
  wait(turns, all);
  std::int64_t now_ns = 0;
  for (int i = 0; i < 500; ++i) {
    const bool is_first = turns.update(now_ns, false);
    const std::int64_t compute_ns = is_first ? 3 * kMs : kMs;  // a switch costs 2 ms
    now_ns += compute_ns;
    turns.charge(compute_ns, 1);
  }
  EXPECT_NEAR(static_cast<double>(turns.switch_cost_ns()), 2e6, 3e5);
  EXPECT_NEAR(static_cast<double>(turns.residency_ns()), 2e7, 3e6);
}

TEST(Turns, RemovedHolderLeavesItsTurn) {
  Turns turns({});
  const Id a = turns.add(1);
  const Id b = turns.add(1);
  turns.set_waiting(a, true);
  turns.update(0, false);
  turns.remove(a);
  EXPECT_FALSE(turns.holder().has_value());
  turns.set_waiting(b, true);
  EXPECT_TRUE(turns.update(1, false));
  EXPECT_EQ(turns.holder(), b);
}

TEST(Turns, HigherPriorityRunsFirstAndALowerOneKeepsNoClaimFromItsWait) {
  Turns turns({});
  const Id low = turns.add(1, 0);
  const Id high = turns.add(1, 5);
  turns.set_waiting(low, true);
  turns.update(0, false);
  ASSERT_EQ(turns.holder(), low);
  turns.set_waiting(high, true);
  EXPECT_FALSE(turns.update(1, /*is_occupied=*/true));
  EXPECT_FALSE(turns.may_start()) << "its residency does not hold against a higher priority";
  EXPECT_TRUE(turns.update(2, /*is_occupied=*/false));
  for (int i = 0; i < 18; ++i) {
    turns.charge(kMs, 1);
    ASSERT_FALSE(turns.update(i * kMs, false));
    ASSERT_EQ(turns.holder(), high);
    ASSERT_TRUE(turns.may_start());
  }
  turns.set_waiting(high, false);
  EXPECT_TRUE(turns.update(1000 * kMs, false));
  EXPECT_EQ(turns.holder(), low);
}

TEST(Turns, LowerPrioritiesHaveATwentiethOfTheTime) {
  Turns turns(kRunByRun);
  const Id lowest = turns.add(1, -3);
  const Id low = turns.add(1, 0);
  const Id high = turns.add(1, 5);
  Busy busy(turns);
  busy.request_ns = {{lowest, 7 * kMs}, {low, 3 * kMs}, {high, kMs / 2}};
  busy.run({lowest, low, high}, 100'000);
  const auto used = [&](Id id) {
    return static_cast<double>(busy.request_ns[id]) * busy.share[id];
  };
  EXPECT_NEAR(used(low) / used(high), 1 / 19.0, 0.003);
  EXPECT_NEAR(used(lowest) / (used(low) + used(high)), 1 / 19.0, 0.003);
}

TEST(Turns, LowerPriorityThatRunsAloneOwesNothing) {
  Turns turns(kRunByRun);
  const Id low = turns.add(1, 0);
  const Id high = turns.add(1, 5);
  Busy busy(turns);
  busy.run({low}, 10'000);
  busy.share.clear();
  busy.run({low, high}, 200);
  EXPECT_NEAR(busy.share[low], 10, 1);
}

struct Model {
  int weight = 1;
  int priority = 0;
  bool is_there = false;
  bool is_waiting = false;
  double used = 0;  ///< per weight
  Id id = {};
};

/// In each window in which two members of one priority both wait without a break, their time per
/// weight differs by at most one run of each (the bound of start-time fair queueing).
TEST(Turns, KeepTheBoundOfFairQueueingIn100000RandomOperations) {
  constexpr int kMembers = 12;
  constexpr std::int64_t kMaxRunNs = 1000;
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  Turns turns(kRunByRun);
  std::vector<Model> models(kMembers);
  // since[i][j]: the difference of `used` when both began to wait.
  std::vector<std::vector<double>> since(kMembers, std::vector<double>(kMembers));
  std::int64_t passing_ns = 0;  // of the lower priority, while the higher one waited
  std::int64_t higher_ns = 0;
  const auto begin_windows = [&](int i) {
    for (int j = 0; j < kMembers; ++j) {
      since[i][j] = models[i].used - models[j].used;
      since[j][i] = -since[i][j];
    }
  };
  for (int step = 0; step < 100'000; ++step) {
    const int i = below(kMembers);
    Model& model = models[i];
    const int what = below(20);
    if (what == 0) {
      if (model.is_there) turns.remove(model.id);
      model = {1 + below(8), below(2), !model.is_there, false, 0, {}};
      if (model.is_there) model.id = turns.add(model.weight, model.priority);
    } else if (what < 4 && model.is_there) {
      model.is_waiting = !model.is_waiting;
      turns.set_waiting(model.id, model.is_waiting);
      begin_windows(i);
    }
    turns.update(step, /*is_occupied=*/false);
    if (std::ranges::none_of(models, &Model::is_waiting)) continue;
    const auto running = std::ranges::find_if(
        models, [&](const Model& one) { return one.is_there && turns.holder() == one.id; });
    ASSERT_NE(running, models.end());
    ASSERT_TRUE(running->is_waiting);
    const int used_ns = 1 + below(kMaxRunNs);
    const bool passes = std::ranges::any_of(models, [&](const Model& other) {
      return other.is_waiting && other.priority > running->priority;
    });
    if (passes) passing_ns += used_ns;
    if (running->priority == 1) higher_ns += used_ns;
    ASSERT_LE(static_cast<double>(passing_ns), static_cast<double>(higher_ns) / 19 + kMaxRunNs)
        << "step " << step;
    turns.charge(used_ns, 1);
    running->used += static_cast<double>(used_ns) / running->weight;
    for (int j = 0; j < kMembers; ++j) {
      const Model& other = models[j];
      if (!other.is_waiting || other.priority != running->priority) continue;
      const double gap = running->used - other.used - since[running - models.begin()][j];
      ASSERT_LE(std::abs(gap), 2.0 * kMaxRunNs) << "step " << step;
    }
  }
}

}  // namespace
}  // namespace sluice::runtime
