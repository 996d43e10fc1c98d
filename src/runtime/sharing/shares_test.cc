#include "runtime/sharing/shares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <vector>

#include "terms/function.h"

namespace sluice::runtime {
namespace {

using Member = Shares::Id;

constexpr std::int64_t kMsNs = 1'000'000;

/// Cores, and members that always have something to run, of 1 ms or what `run_ns` says.
class BusyCores {
 public:
  BusyCores(Shares& shares, std::size_t num_cores) : shares_(shares), num_cores_(num_cores) {}

  /// `members` run for so long; then all stand still, and those of the next call run.
  void run(const std::vector<Member>& members, std::int64_t for_ns) {
    for (const Member id : members) shares_.set_waiting(id, true);
    const std::int64_t until_ns = now_ns_ + for_ns;
    while (now_ns_ < until_ns) {
      fill_cores();
      end_first();
    }
    while (!running_.empty()) end_first();
    for (const Member id : members) shares_.set_waiting(id, false);
  }

  std::map<Member, std::int64_t> run_ns;
  std::map<Member, double> used;  ///< in ns

 private:
  std::int64_t run_of(Member id) { return run_ns.contains(id) ? run_ns[id] : kMsNs; }
  void fill_cores() {
    while (running_.size() < num_cores_) {
      const auto id = shares_.next();
      if (!id) return;
      shares_.begin_run(*id);
      shares_.set_waiting(*id, false);
      running_.emplace(now_ns_ + run_of(*id), *id);
    }
  }
  void end_first() {
    const auto [end_ns, id] = *running_.begin();
    running_.erase(running_.begin());
    now_ns_ = end_ns;
    used[id] += static_cast<double>(run_of(id));
    shares_.charge(id, run_of(id));
    shares_.set_waiting(id, true);
    shares_.end_run(id);
  }

  Shares& shares_;
  const std::size_t num_cores_;
  std::multimap<std::int64_t, Member> running_;  ///< by its end
  std::int64_t now_ns_ = 0;
};

TEST(Shares, BusyMembersShareTimeByTheirWeightsWhateverARunTakes) {
  Shares shares;
  const std::vector<int> weights = {1, 2, 4, 13};
  const std::vector<std::int64_t> run_ns = {5000, 300, 70, 1000};
  BusyCores busy(shares, 1);
  std::vector<Member> all;
  for (std::size_t i = 0; i < 4; ++i) {
    all.push_back(shares.add(weights[i]));
    busy.run_ns[all[i]] = run_ns[i];
  }
  busy.run(all, 10 * kMsNs);
  for (std::size_t i = 0; i < 4; ++i) {
    const double wanted = weights[i] / 20.0;
    EXPECT_NEAR(busy.used[all[i]] / (10.0 * kMsNs), wanted, 0.05 * wanted) << i;
  }
}

TEST(Shares, RunsShorterThanAWeightAreNotForgotten) {
  Shares shares;
  const std::vector<Member> all = {shares.add(terms::kMaxWeight), shares.add(terms::kMaxWeight)};
  BusyCores busy(shares, 1);
  busy.run_ns = {{all[0], 1}, {all[1], 3}};
  busy.run(all, 60'000);
  EXPECT_NEAR(busy.used[all[0]], 30'000, 1000);
}

TEST(Shares, LowerPrioritiesHaveATwentiethOfTheTime) {
  Shares shares;
  const Member lowest = shares.add(1, -3);
  const Member low = shares.add(1, 0);
  const Member high = shares.add(1, 5);
  BusyCores busy(shares, 1);
  busy.run_ns = {{lowest, 7 * kMsNs}, {low, 3 * kMsNs}, {high, kMsNs / 2}};
  busy.run({lowest, low, high}, 50'000 * kMsNs);
  EXPECT_NEAR(busy.used[low] / busy.used[high], 1 / 19.0, 0.003);
  EXPECT_NEAR(busy.used[lowest] / (busy.used[low] + busy.used[high]), 1 / 19.0, 0.003);
}

TEST(Shares, LowerPriorityThatRanAloneOwesNothing) {
  Shares shares;
  const Member low = shares.add(1, 0);
  const Member high = shares.add(1, 5);
  BusyCores busy(shares, 1);
  busy.run({low}, 10'000 * kMsNs);
  busy.used.clear();
  busy.run({low, high}, 200 * kMsNs);
  EXPECT_NEAR(busy.used[low], 10 * kMsNs, kMsNs);
}

TEST(Shares, CoresAreDividedByTheWeightsOfMembersThatCanUseThem) {
  Shares shares;
  const std::vector<int> weights = {3, 2, 2, 1};  // of two cores: none wants more than one
  BusyCores busy(shares, 2);
  std::vector<Member> all;
  for (const int weight : weights) all.push_back(shares.add(weight));
  busy.run_ns = {{all[0], kMsNs}, {all[1], kMsNs / 3}, {all[2], kMsNs / 7}, {all[3], kMsNs / 2}};
  busy.run(all, 4000 * kMsNs);
  for (std::size_t i = 0; i < 4; ++i) {
    const double wanted = weights[i] / 8.0;
    EXPECT_NEAR(busy.used[all[i]] / (8000.0 * kMsNs), wanted, 0.05 * wanted) << i;
  }
}

TEST(Shares, MemberThatCannotUseItsShareHasACoreAndOthersDivideTheRest) {
  Shares shares;
  const Member large = shares.add(8);
  const Member one = shares.add(1);
  const Member other = shares.add(1);
  BusyCores busy(shares, 2);
  busy.run_ns = {{large, 2 * kMsNs}, {one, kMsNs}, {other, kMsNs / 4}};
  busy.run({large, one, other}, 4000 * kMsNs);
  EXPECT_NEAR(busy.used[large], 4000.0 * kMsNs, 100 * kMsNs);
  EXPECT_NEAR(busy.used[one], 2000.0 * kMsNs, 100 * kMsNs);
  EXPECT_NEAR(busy.used[other], 2000.0 * kMsNs, 100 * kMsNs);
}

TEST(Shares, MemberThatBecomesBusyDoesNotPassOthersForWhatOneCouldNotUse) {
  Shares shares;
  const Member large = shares.add(8);
  const Member old = shares.add(1);
  const Member fresh = shares.add(1);
  BusyCores busy(shares, 2);
  busy.run({large, old}, 4000 * kMsNs);
  busy.used.clear();
  busy.run({large, old, fresh}, 100 * kMsNs);
  EXPECT_NEAR(busy.used[old], 50.0 * kMsNs, 3 * kMsNs);
  EXPECT_NEAR(busy.used[fresh], 50.0 * kMsNs, 3 * kMsNs);
}

TEST(Shares, MemberThatCouldNotUseItsShareKeepsASecondOfCreditAtMost) {
  Shares shares;
  const Member large = shares.add(8);
  const Member old = shares.add(1);
  BusyCores busy(shares, 2);
  busy.run({large, old}, 100'000 * kMsNs);
  std::vector<Member> all = {large, old};
  for (int i = 0; i < 18; ++i) all.push_back(shares.add(1));
  busy.used.clear();
  busy.run(all, 20'000 * kMsNs);  // now its share is 16/27 of a core
  EXPECT_NEAR(busy.used[large], 40'000.0 * kMsNs * 8 / 27, 1100 * kMsNs);
}

struct Model {
  int weight = 1;
  int priority = 0;
  bool is_there = false;
  bool is_waiting = false;
  double used = 0;  ///< per weight
  Member id = {};
};

/// In each window in which two members of one priority both wait without a break, their time per
/// weight differs by at most one run of each (the bound of start-time fair queueing).
TEST(Shares, KeepTheBoundOfFairQueueingIn100000RandomOperations) {
  constexpr int kMembers = 12;
  constexpr std::int64_t kMaxRunNs = 1000;
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  Shares shares;
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
      if (model.is_there) shares.remove(model.id);
      model = {1 + below(8), below(2), !model.is_there, false, 0, {}};
      if (model.is_there) model.id = shares.add(model.weight, model.priority);
    } else if (what < 4 && model.is_there) {
      model.is_waiting = !model.is_waiting;
      shares.set_waiting(model.id, model.is_waiting);
      begin_windows(i);
    }
    const auto next = shares.next();
    ASSERT_EQ(next.has_value(), std::ranges::any_of(models, &Model::is_waiting));
    if (!next) continue;
    const auto running = std::ranges::find_if(
        models, [&](const Model& one) { return one.is_there && *next == one.id; });
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
    shares.begin_run(running->id);
    shares.charge(running->id, used_ns);
    shares.end_run(running->id);
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
