#include "runtime/handle_table.h"

#include <gtest/gtest.h>

namespace sluice::runtime {
namespace {

TEST(HandleTable, FindsEntriesUntilRemoval) {
  HandleTable<int> table;
  const std::uint64_t handle = table.insert(std::make_shared<int>(5));
  ASSERT_NE(table.find(handle), nullptr);
  EXPECT_EQ(*table.find(handle), 5);
  EXPECT_EQ(*table.remove(handle), 5);
  EXPECT_EQ(table.find(handle), nullptr);
  EXPECT_EQ(table.remove(handle), nullptr);
}

TEST(HandleTable, ReusedSlotGetsANewHandle) {
  HandleTable<int> table;
  const std::uint64_t old = table.insert(std::make_shared<int>(1));
  table.remove(old);
  const std::uint64_t now = table.insert(std::make_shared<int>(2));
  EXPECT_EQ(old & 0xFFFFFFFFU, now & 0xFFFFFFFFU);
  EXPECT_NE(old, now);
  EXPECT_EQ(table.find(old), nullptr);
  EXPECT_EQ(*table.find(now), 2);
}

TEST(HandleTable, UnknownHandlesFindNothing) {
  HandleTable<int> table;
  EXPECT_EQ(table.find(0), nullptr);
  table.insert(std::make_shared<int>(1));
  EXPECT_EQ(table.find(0), nullptr);
  EXPECT_EQ(table.find(~std::uint64_t{0}), nullptr);
}

TEST(HandleTable, HandlesOfTwoKindsAreNeverEqual) {
  HandleTable<int> engine;
  HandleTable<int> functions(HandleKind::kFunction);
  const std::uint64_t one = engine.insert(std::make_shared<int>(1));
  const std::uint64_t other = functions.insert(std::make_shared<int>(2));
  EXPECT_EQ(kind_of(one), HandleKind::kEngine);
  EXPECT_EQ(kind_of(other), HandleKind::kFunction);
  EXPECT_EQ(functions.find(one), nullptr);
  EXPECT_EQ(engine.remove(other), nullptr);
  EXPECT_EQ(*functions.find(other), 2);
}

}  // namespace
}  // namespace sluice::runtime
