#include "runtime/sharing/turns.h"

#include <gtest/gtest.h>

#include <map>

namespace sluice::runtime {
namespace {

using Id = Turns::Id;

constexpr std::int64_t kMs = 1'000'000;

/// Members that always have requests of 1 ms, one at a time.
class Busy {
 public:
  explicit Busy(Turns& turns) : turns_(turns) {}

  void run(const std::vector<Id>& waiting, int num_requests) {
    for (int i = 0; i < num_requests; ++i) {
      turns_.update(now_ns_, waiting, /*is_occupied=*/false);
      now_ns_ += kMs;
      turns_.charge(kMs, 1);
      share[turns_.holder().value()] += 1;
    }
  }

  std::map<Id, int> share;

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

TEST(Turns, ATurnLastsAsLongAsTheResidencyWhileOthersWait) {
  Turns turns({.min_residency_ns = 10 * kMs});
  const std::vector<Id> all = {turns.add(1), turns.add(1)};
  Busy(turns).run(all, 100);
  EXPECT_EQ(turns.num_switches(), 9);
}

TEST(Turns, AModelWithoutRequestsGivesItsTurnUpAtOnce) {
  Turns turns({.min_residency_ns = 1000 * kMs});
  const Id a = turns.add(1);
  const Id b = turns.add(1);
  turns.update(0, std::vector{a}, false);
  EXPECT_EQ(turns.holder(), a);
  EXPECT_FALSE(turns.update(1, std::vector{b}, /*is_occupied=*/true)) << "its last request runs";
  EXPECT_TRUE(turns.update(2, std::vector{b}, /*is_occupied=*/false));
  EXPECT_EQ(turns.holder(), b);
}

TEST(Turns, TheTurnPassesWhenRunningRequestsHaveEnded) {
  Turns turns({.min_residency_ns = kMs});
  const Id a = turns.add(1);
  const Id b = turns.add(1);
  const std::vector both = {a, b};
  turns.update(0, both, false);
  turns.charge(kMs, 1);
  turns.charge(kMs, 1);
  EXPECT_FALSE(turns.update(2 * kMs, both, /*is_occupied=*/true));
  EXPECT_FALSE(turns.may_start());
  EXPECT_TRUE(turns.update(3 * kMs, both, /*is_occupied=*/false));
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
  std::int64_t now_ns = 0;
  for (int i = 0; i < 500; ++i) {
    const bool is_first = turns.update(now_ns, all, false);
    const std::int64_t compute_ns = is_first ? 3 * kMs : kMs;  // a switch costs 2 ms
    now_ns += compute_ns;
    turns.charge(compute_ns, 1);
  }
  EXPECT_NEAR(static_cast<double>(turns.switch_cost_ns()), 2e6, 3e5);
  EXPECT_NEAR(static_cast<double>(turns.residency_ns()), 2e7, 3e6);
}

TEST(Turns, ARemovedHolderLeavesItsTurn) {
  Turns turns({});
  const Id a = turns.add(1);
  const Id b = turns.add(1);
  turns.update(0, std::vector{a}, false);
  turns.remove(a);
  EXPECT_FALSE(turns.holder().has_value());
  EXPECT_TRUE(turns.update(1, std::vector{b}, false));
  EXPECT_EQ(turns.holder(), b);
}

}  // namespace
}  // namespace sluice::runtime
