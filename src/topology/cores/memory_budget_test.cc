#include "topology/cores/memory_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <thread>

namespace sluice::topology {
namespace {

using ::testing::HasSubstr;

TEST(MemoryBudget, CountsByCategoryMostFirst) {
  MemoryBudget budget("core group 1", 1000);
  ASSERT_TRUE(budget.reserve("queues", 10).is_ok());
  ASSERT_TRUE(budget.reserve("constants", 600).is_ok());
  ASSERT_TRUE(budget.reserve("queues", 20).is_ok());
  const auto items = budget.items();
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].category, "constants");
  EXPECT_EQ(items[1].bytes, 30);
  EXPECT_EQ(budget.used_bytes(), 630);
}

TEST(MemoryBudget, RefusesWithAnItemisedMessage) {
  MemoryBudget budget("core group 7", 1000);
  ASSERT_TRUE(budget.reserve("constants", 600).is_ok());
  ASSERT_TRUE(budget.reserve("arenas", 300).is_ok());
  const Status status = budget.reserve("arenas", 101);
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_EQ(status.message(),
            "core group 7: 101 bytes for arenas do not fit: 900 of 1000 bytes are in use: arenas "
            "300, constants 600");
  EXPECT_EQ(budget.used_bytes(), 900);
}

TEST(MemoryBudget, LastByteFits) {
  MemoryBudget budget("group", 1000);
  EXPECT_TRUE(budget.reserve("constants", 1000).is_ok());
  EXPECT_FALSE(budget.reserve("constants", 1).is_ok());
}

TEST(MemoryBudget, ReleasedBytesAreReusableAndPeakStays) {
  MemoryBudget budget("group", 1000);
  ASSERT_TRUE(budget.reserve("constants", 1000).is_ok());
  budget.release("constants", 900);
  EXPECT_TRUE(budget.reserve("arenas", 900).is_ok());
  budget.release("arenas", 900);
  budget.release("constants", 100);
  EXPECT_EQ(budget.used_bytes(), 0);
  EXPECT_TRUE(budget.items().empty());
  EXPECT_EQ(budget.peak_bytes(), 1000);
}

TEST(MemoryBudget, HugeAmountsDoNotOverflow) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  MemoryBudget budget("group", MemoryBudget::kUnlimited);
  ASSERT_TRUE(budget.reserve("constants", kMax).is_ok());
  EXPECT_EQ(budget.reserve("constants", 1).code(), Code::kResourceExhausted);
}

TEST(MemoryBudget, LeaseReturnsItsBytesOnce) {
  MemoryBudget budget("group", 100);
  {
    auto lease = MemoryLease::reserve(budget, "constants", 80);
    ASSERT_TRUE(lease.is_ok());
    const MemoryLease moved = std::move(lease).value();
    EXPECT_EQ(moved.bytes(), 80);
    EXPECT_EQ(budget.used_bytes(), 80);
    EXPECT_FALSE(MemoryLease::reserve(budget, "arenas", 30).is_ok());
  }
  EXPECT_EQ(budget.used_bytes(), 0);
}

TEST(MemoryBudget, ThreadsNeverGetMoreThanTheLimitTogether) {
  MemoryBudget budget("group", 50);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&budget] {
      for (int step = 0; step < 2000; ++step) {
        const auto lease = MemoryLease::reserve(budget, "arenas", 20);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(budget.used_bytes(), 0);
  EXPECT_LE(budget.peak_bytes(), 50);
}

}  // namespace
}  // namespace sluice::topology
