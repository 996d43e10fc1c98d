#include "runtime/sharing/turns.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace sluice::runtime {
namespace {

using Id = Turns::Id;

constexpr std::int64_t kMs = 1'000'000;

void wait(Turns& turns, const std::vector<Id>& members) {
  for (const Id id : members) turns.set_waiting(id, true);
}

/// Members that always have requests, one at a time, of 1 ms.
class Busy {
 public:
  explicit Busy(Turns& turns) : turns_(turns) {}

  void run(const std::vector<Id>& waiting, int num_requests) {
    wait(turns_, waiting);
    for (int i = 0; i < num_requests; ++i) {
      turns_.update(now_ns_, /*is_occupied=*/false);
      const Id holder = turns_.holder().value();
      now_ns_ += kMs;
      turns_.charge(kMs, 1);
      share[holder] += 1;
    }
  }

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

}  // namespace
}  // namespace sluice::runtime
