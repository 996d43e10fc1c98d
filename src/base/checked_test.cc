#include "base/checked.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace sluice {
namespace {

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

TEST(CheckedProduct, EmptyProductIsOne) { EXPECT_EQ(checked_product({}), 1); }

TEST(CheckedProduct, RefusesOverflow) {
  const std::array<std::int64_t, 2> dims = {kHuge, 2};
  EXPECT_EQ(checked_product(dims), std::nullopt);
}

TEST(CheckedProduct, RefusesNegativeDimensions) {
  const std::array<std::int64_t, 2> dims = {2, -1};
  EXPECT_EQ(checked_product(dims), std::nullopt);
}

TEST(CheckedProduct, ZeroBeatsOverflow) {
  const std::array<std::int64_t, 3> dims = {kHuge, kHuge, 0};
  EXPECT_EQ(checked_product(dims), 0);
}

TEST(CheckedAlign, RoundsUpAndRefusesOverflow) {
  EXPECT_EQ(checked_align(65, 64), 128);
  EXPECT_EQ(checked_align(64, 64), 64);
  EXPECT_EQ(checked_align(kHuge, 64), std::nullopt);
}

}  // namespace
}  // namespace sluice
