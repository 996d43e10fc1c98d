#include "base/byte_budget.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(ByteBudget, RefusesBeyondTheLimitAndChargesNothingThen) {
  ByteBudget budget(100);
  EXPECT_TRUE(budget.charge(60).is_ok());
  EXPECT_EQ(budget.charge(41).code(), Code::kResourceExhausted);
  EXPECT_EQ(budget.held_bytes(), 60);
  budget.release(60);
  EXPECT_TRUE(budget.charge(100).is_ok());
}

TEST(ByteBudget, ParentIsChargedAndRefusesToo) {
  const auto parent = std::make_shared<ByteBudget>(100);
  ByteBudget first(80, parent);
  ByteBudget second(80, parent);
  EXPECT_TRUE(first.charge(80).is_ok());
  EXPECT_FALSE(second.charge(80).is_ok());
  EXPECT_FALSE(first.charge(1).is_ok());
  EXPECT_EQ(second.held_bytes(), 0);
  first.release(80);
  EXPECT_EQ(parent->held_bytes(), 0);
}

TEST(ByteBudget, BothParentsAreChargedOrNone) {
  const auto kind = std::make_shared<ByteBudget>(100);
  const auto owner = std::make_shared<ByteBudget>(50);
  ByteBudget budget(1000, kind, owner);
  EXPECT_TRUE(budget.charge(50).is_ok());
  EXPECT_EQ(kind->held_bytes(), 50);
  EXPECT_EQ(owner->held_bytes(), 50);
  EXPECT_FALSE(budget.charge(1).is_ok()) << "the owner's limit";
  EXPECT_EQ(budget.held_bytes(), 50);
  EXPECT_EQ(kind->held_bytes(), 50);
  ByteBudget others(1000, kind);
  EXPECT_TRUE(others.charge(50).is_ok()) << "of another owner";
  budget.release(50);
  EXPECT_EQ(kind->held_bytes(), 50);
  EXPECT_EQ(owner->held_bytes(), 0);
}

TEST(ByteCharge, EndsWithItsLastOwner) {
  const auto budget = std::make_shared<ByteBudget>(100);
  {
    ByteCharge kept;
    {
      auto charge = ByteCharge::take(budget, 40);
      ASSERT_TRUE(charge.is_ok());
      kept = std::move(*charge);
    }
    EXPECT_EQ(budget->held_bytes(), 40);
    EXPECT_TRUE(kept.resize(90).is_ok());
    EXPECT_FALSE(kept.resize(101).is_ok());
    EXPECT_EQ(kept.bytes(), 90);
    EXPECT_TRUE(kept.resize(10).is_ok());
    EXPECT_EQ(budget->held_bytes(), 10);
  }
  EXPECT_EQ(budget->held_bytes(), 0);
}

}  // namespace
}  // namespace sluice
