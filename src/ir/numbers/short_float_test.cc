#include "ir/numbers/short_float.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sluice::ir {
namespace {

TEST(ShortFloat, HalvesAreRoundedToNearestEven) {
  EXPECT_EQ(narrow_to_f16(1.0F), 0x3c00);
  EXPECT_EQ(narrow_to_f16(-6.0F), 0xc600);
  EXPECT_EQ(narrow_to_f16(0.1F), 0x2e66);
  EXPECT_EQ(narrow_to_f16(65504.0F), 0x7bff);
  EXPECT_EQ(narrow_to_f16(65520.0F), 0x7c00);
  EXPECT_EQ(narrow_to_f16(5.9604645e-8F), 0x0001);
  EXPECT_EQ(narrow_to_f16(2049.0F), 0x6800);
  EXPECT_EQ(narrow_to_f16(-0.0F), 0x8000);
}

TEST(ShortFloat, EveryFiniteHalfSurvivesTheWayThroughFloat) {
  for (std::uint32_t bits = 0; bits < 0x7c00; ++bits) {
    ASSERT_EQ(narrow_to_f16(widen_f16(static_cast<std::uint16_t>(bits))), bits);
  }
  EXPECT_TRUE(std::isnan(widen_f16(0x7e00)));
  EXPECT_EQ(widen_f16(0xfc00), -INFINITY);
}

TEST(ShortFloat, Bf16IsRoundedToNearestEven) {
  EXPECT_EQ(narrow_to_bf16(-3.0F), 0xc040);
  EXPECT_EQ(narrow_to_bf16(1.00390625F), 0x3f80);  // halfway, to the even neighbour below
  EXPECT_EQ(narrow_to_bf16(1.01171875F), 0x3f82);  // halfway, to the even neighbour above
  EXPECT_EQ(narrow_to_bf16(1.00390637F), 0x3f81);
  EXPECT_EQ(narrow_to_bf16(3.4e38F), 0x7f80);
  EXPECT_TRUE(std::isnan(widen_bf16(narrow_to_bf16(NAN))));
}

TEST(ShortFloat, Bf16IsTheUpperHalfOfAFloat) {
  EXPECT_EQ(widen_bf16(0x3f80), 1.0F);
  EXPECT_EQ(widen_bf16(0xc040), -3.0F);
}

}  // namespace
}  // namespace sluice::ir
