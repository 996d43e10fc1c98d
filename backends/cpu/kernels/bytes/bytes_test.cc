#include "kernels/bytes/bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "testing/test_isas.h"

namespace sluice::cpu {
namespace {

TEST(Bytes, TablesAreLookedUpForEveryCountAndInPlace) {
  std::array<std::uint8_t, 256> table = {};
  for (std::size_t i = 0; i < table.size(); ++i) {
    table[i] = static_cast<std::uint8_t>(i * 37 + 11);
  }
  for (const Isa isa : isas_to_test()) {
    for (std::size_t count = 0; count <= 300; ++count) {
      std::vector<std::uint8_t> bytes(count + 1);
      for (std::size_t i = 0; i <= count; ++i) bytes[i] = static_cast<std::uint8_t>(i * 5);
      const std::vector<std::uint8_t> from = bytes;
      SLUICE_CPU_PICK(isa, map_bytes)
      (table.data(), bytes.data(), static_cast<std::int64_t>(count), bytes.data());
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(bytes[i], table[from[i]]) << isa_name(isa);
      EXPECT_EQ(bytes[count], from[count]) << "behind the end";
    }
  }
}

TEST(Bytes, ShortsAreRoundedHalfToEvenAndSaturated) {
  const std::vector<float> x = {0,     0.25F, 0.75F, -0.25F, 1e9F,   -1e9F, 100,  -100.5F, 3,
                                12345, 7,     8,     9,      -16384, 16383, 0.5F, 1,       2.25F};
  const auto count = static_cast<std::int64_t>(x.size());
  for (const bool has_sign : {false, true}) {
    const ByteScale scale = {0.5F, has_sign ? -3 : 32768, has_sign};
    const int least = has_sign ? -32768 : 0;
    for (const Isa isa : isas_to_test()) {
      std::vector<std::uint16_t> shorts(x.size() + 1, 77);
      SLUICE_CPU_PICK(isa, quantize_shorts)(x.data(), count, scale, shorts.data());
      std::vector<float> back(x.size());
      SLUICE_CPU_PICK(isa, dequantize_shorts)(shorts.data(), count, scale, back.data());
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double steps = std::nearbyint(double{x[i]} / 0.5) + scale.zero;
        const int want = static_cast<int>(std::clamp(steps, double(least), least + 65535.0));
        const int got = has_sign ? static_cast<std::int16_t>(shorts[i]) : shorts[i];
        ASSERT_EQ(got, want) << isa_name(isa) << " at " << i;
        ASSERT_EQ(back[i], static_cast<float>(want - scale.zero) * 0.5F);
      }
      EXPECT_EQ(shorts.back(), 77) << "behind the end";
    }
  }
}

TEST(Bytes, BlocksAndPlanesAreEachOthersInverse) {
  constexpr std::int64_t kPlane = 70;
  for (const Isa isa : isas_to_test()) {
    for (const std::int64_t channels : {1, 7, 16}) {
      for (const std::int64_t pixels : {1, 15, 16, 33, 70}) {
        std::vector<std::uint8_t> planes(16 * kPlane);
        for (std::size_t i = 0; i < planes.size(); ++i)
          planes[i] = static_cast<std::uint8_t>(i * 7);
        std::vector<std::uint8_t> block(static_cast<std::size_t>(pixels) * 16 + 1, 99);
        SLUICE_CPU_PICK(isa, planes_to_byte_block)
        (planes.data(), kPlane, channels, pixels, block.data());
        for (std::int64_t i = 0; i < pixels * 16; ++i) {
          const int want =
              i % 16 < channels ? planes[static_cast<std::size_t>(i % 16 * kPlane + i / 16)] : 0;
          ASSERT_EQ(block[static_cast<std::size_t>(i)], want) << isa_name(isa) << " at " << i;
        }
        EXPECT_EQ(block.back(), 99) << "behind the end";
        std::vector<std::uint8_t> back(planes.size(), 98);
        SLUICE_CPU_PICK(isa, byte_block_to_planes)
        (block.data(), pixels, channels, back.data(), kPlane);
        for (std::int64_t i = 0; i < 16 * kPlane; ++i) {
          const auto at = static_cast<std::size_t>(i);
          const bool is_written = i / kPlane < channels && i % kPlane < pixels;
          ASSERT_EQ(back[at], is_written ? planes[at] : 98) << isa_name(isa) << " at " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace sluice::cpu
