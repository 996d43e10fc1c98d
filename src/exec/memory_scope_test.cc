#include "exec/memory_scope.h"

#include <gtest/gtest.h>

#include "exec/aligned_buffer.h"

namespace sluice::exec {
namespace {

TEST(MemoryScope, BuffersAreChargedUntilTheyAreFreed) {
  const auto budget = std::make_shared<ByteBudget>(1 << 20);
  AlignedBuffer outside;
  ASSERT_TRUE(outside.reserve(1000).is_ok());
  {
    AlignedBuffer inside;
    {
      const MemoryScope scope(budget);
      ASSERT_TRUE(inside.reserve(1000).is_ok());
      EXPECT_EQ(inside.reserve(2 << 20).code(), Code::kResourceExhausted);
      EXPECT_EQ(inside.size_bytes(), 0);
      ASSERT_TRUE(inside.reserve(1000).is_ok());
    }
    EXPECT_GE(budget->held_bytes(), 1000);
    EXPECT_LT(budget->held_bytes(), 2000);
  }
  EXPECT_EQ(budget->held_bytes(), 0);
}

TEST(MemoryScope, BufferWhoseChargeHasEndedIsSomebodyElses) {
  const auto budget = std::make_shared<ByteBudget>(1 << 20);
  AlignedBuffer buffer;
  buffer.end_charge();
  {
    const MemoryScope scope(budget);
    ASSERT_TRUE(buffer.reserve(1000).is_ok());
  }
  buffer.end_charge();
  EXPECT_EQ(budget->held_bytes(), 0);
  buffer = AlignedBuffer();
  EXPECT_EQ(budget->held_bytes(), 0);
}

}  // namespace
}  // namespace sluice::exec
