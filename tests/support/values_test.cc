#include "support/values.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/tolerance.h"

namespace sluice::testing {
namespace {

using ir::ElementType;

double round_trip(ElementType type, double value) {
  return decode(type, encode(type, std::vector<double>{value}))[0];
}

TEST(Values, SixteenBitFloatsRoundToNearestEven) {
  EXPECT_EQ(round_trip(ElementType::kF16, 1.0), 1.0);
  EXPECT_EQ(round_trip(ElementType::kF16, 1 + 0x1p-11), 1.0);
  EXPECT_EQ(round_trip(ElementType::kF16, 1 + 3 * 0x1p-11), 1 + 0x1p-9);
  EXPECT_EQ(round_trip(ElementType::kF16, 65504), 65504);
  EXPECT_EQ(round_trip(ElementType::kF16, 65520), INFINITY);
  EXPECT_EQ(round_trip(ElementType::kF16, -0x1p-24), -0x1p-24);
  EXPECT_EQ(round_trip(ElementType::kBf16, 1 + 0x1p-8), 1.0);
  EXPECT_EQ(round_trip(ElementType::kBf16, -3), -3);
  EXPECT_EQ(round_trip(ElementType::kBf16, -INFINITY), -INFINITY);
  EXPECT_TRUE(std::isnan(round_trip(ElementType::kF16, NAN)));
  EXPECT_EQ(encode(ElementType::kF16, std::vector<double>{1})[1], std::byte{0x3c});
}

TEST(Values, IntegersAndBoolsKeepTheirBytes) {
  EXPECT_EQ(round_trip(ElementType::kI8, -128), -128);
  EXPECT_EQ(round_trip(ElementType::kU32, 4294967295.0), 4294967295.0);
  EXPECT_EQ(encode(ElementType::kBool, std::vector<double>{0.5})[0], std::byte{1});
  EXPECT_EQ(encode(ElementType::kI64, std::vector<double>{1, 2}).size(), 16U);
}

TEST(Tolerance, SpecialValuesAreCloseToThemselvesOnly) {
  const Tolerance any = {1, 1};
  EXPECT_TRUE(is_close(NAN, NAN, any));
  EXPECT_FALSE(is_close(0, NAN, any));
  EXPECT_FALSE(is_close(1e308, INFINITY, any));
  EXPECT_TRUE(is_close(1.0005, 1, tolerance_of(ElementType::kF16)));
  EXPECT_FALSE(is_close(1.0005, 1, tolerance_of(ElementType::kF32)));
}

}  // namespace
}  // namespace sluice::testing
