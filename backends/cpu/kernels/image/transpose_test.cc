#include "kernels/image/transpose.h"

#include <gtest/gtest.h>

#include "testing/layout_testing.h"

namespace sluice::cpu {
namespace {

TEST(Transpose, PlanesAndBlocksAreEachOthersInverse) {
  for (const Isa isa : isas_to_test()) {
    for (std::int64_t channels = 1; channels <= kBlock; ++channels) {
      for (std::int64_t pixels = 1; pixels <= 35; ++pixels) {
        const auto planes = testing::random_floats(channels * pixels, 7);
        const auto block = testing::padded_blocked(planes, channels, pixels);
        std::vector<float> made(block.size(), NAN);
        SLUICE_CPU_PICK(isa, planes_to_block)
        (planes.data(), pixels, channels, pixels, made.data());
        EXPECT_EQ(made, block) << isa_name(isa) << " " << channels << "x" << pixels;
        std::vector<float> back(planes.size(), NAN);
        SLUICE_CPU_PICK(isa, block_to_planes)
        (block.data(), pixels, channels, back.data(), pixels);
        EXPECT_EQ(back, planes) << isa_name(isa) << " " << channels << "x" << pixels;
      }
    }
  }
}

TEST(Transpose, EverySecondPixelIsTakenAndNothingBehindTheLastIsTouched) {
  for (const Isa isa : isas_to_test()) {
    for (std::int64_t count = 0; count <= 70; ++count) {
      const auto row = testing::random_floats(count > 0 ? 2 * count - 1 : 0, 8);
      std::vector<float> taken(static_cast<std::size_t>(count + 1), -7.0F);
      SLUICE_CPU_PICK(isa, every_second)(row.data(), count, taken.data());
      for (std::int64_t i = 0; i < count; ++i) {
        EXPECT_EQ(taken[static_cast<std::size_t>(i)], row[static_cast<std::size_t>(2 * i)])
            << isa_name(isa) << " " << i << " of " << count;
      }
      EXPECT_EQ(taken.back(), -7.0F) << isa_name(isa) << " " << count;
    }
  }
}

}  // namespace
}  // namespace sluice::cpu
