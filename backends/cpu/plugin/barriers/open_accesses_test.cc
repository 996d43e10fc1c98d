#include "plugin/barriers/open_accesses.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace sluice::cpu {
namespace {

bool do_conflict(const Access& a, const Access& b) {
  return a.binding == b.binding && a.begin < b.end && b.begin < a.end && (a.write || b.write) &&
         !(a.serial && b.serial);
}

Access random_access(std::mt19937& random) {
  const std::uintptr_t begin = random() % 64;
  return {static_cast<std::int32_t>(random() % 3), begin, begin + random() % 16, random() % 4 == 0,
          random() % 2 == 0};
}

TEST(OpenAccesses, AnswersAsAComparisonWithEachAccess) {
  std::mt19937 random(11);
  int num_conflicts = 0;
  for (int round = 0; round < 300; ++round) {
    OpenAccesses open;
    std::vector<Access> all;
    for (int i = 0; i < 100; ++i) {
      const Access access = random_access(random);
      const bool wanted =
          access.begin < access.end && std::ranges::any_of(all, [&](const Access& other) {
            return other.begin < other.end && do_conflict(access, other);
          });
      ASSERT_EQ(open.conflicts_with(access) && access.begin < access.end, wanted) << round;
      num_conflicts += wanted ? 1 : 0;
      all.push_back(access);
      open.add(access);
    }
  }
  EXPECT_GT(num_conflicts, 1000);
}

TEST(OpenAccesses, ForgetsAtABarrier) {
  OpenAccesses open;
  open.add({0, 0, 64, true, false});
  EXPECT_TRUE(open.conflicts_with({0, 32, 40, false, true}));
  open.clear();
  EXPECT_FALSE(open.conflicts_with({0, 32, 40, false, true}));
}

}  // namespace
}  // namespace sluice::cpu
