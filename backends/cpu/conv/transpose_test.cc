#include "kernels/transpose.h"

#include <gtest/gtest.h>

#include "conv/layout_testing.h"

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

}  // namespace
}  // namespace sluice::cpu
