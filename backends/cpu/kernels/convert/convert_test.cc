#include "kernels/convert/convert.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "testing/test_isas.h"

namespace sluice::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <typename T>
std::vector<T> stored(Isa isa, Storage storage, const std::vector<float>& values) {
  std::vector<T> result(values.size());
  SLUICE_CPU_PICK(isa, from_floats)
  (storage, values.data(), static_cast<std::int64_t>(values.size()), result.data());
  return result;
}

template <typename T>
std::vector<float> read(Isa isa, Storage storage, const std::vector<T>& values) {
  std::vector<float> result(values.size());
  SLUICE_CPU_PICK(isa, to_floats)
  (storage, values.data(), static_cast<std::int64_t>(values.size()), result.data());
  return result;
}

TEST(Convert, EveryHalfSurvives) {
  std::vector<std::uint16_t> halves;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const bool is_nan = (bits & 0x7fff) > 0x7c00;
    if (!is_nan) halves.push_back(static_cast<std::uint16_t>(bits));
  }
  for (const Isa isa : isas_to_test()) {
    const std::vector<float> floats = read(isa, Storage::kF16, halves);
    EXPECT_EQ(floats[1], std::ldexp(1.0F, -24));
    EXPECT_EQ(floats[0x3c00], 1.0F);
    EXPECT_EQ(stored<std::uint16_t>(isa, Storage::kF16, floats), halves);
  }
}

TEST(Convert, HalvesRoundToEven) {
  const float ulp = std::ldexp(1.0F, -10);
  const std::vector<float> values = {
      1 + ulp / 2,           1 + ulp * 3 / 2,      65519, 65520, -kInfinity,
      std::ldexp(1.0F, -25), std::ldexp(1.5F, -25)};
  const std::vector<std::uint16_t> want = {0x3c00, 0x3c02, 0x7bff, 0x7c00, 0xfc00, 0, 1};
  for (const Isa isa : isas_to_test()) {
    EXPECT_EQ(stored<std::uint16_t>(isa, Storage::kF16, values), want);
  }
}

TEST(Convert, Bf16RoundsToEvenAndKeepsNan) {
  const std::vector<float> values = {std::bit_cast<float>(0x3f808000U),
                                     std::bit_cast<float>(0x3f818000U),
                                     std::bit_cast<float>(0x7f800001U), -2.0F};
  for (const Isa isa : isas_to_test()) {
    const auto bits = stored<std::uint16_t>(isa, Storage::kBf16, values);
    EXPECT_EQ(bits, (std::vector<std::uint16_t>{0x3f80, 0x3f82, 0x7fc0, 0xc000}));
    EXPECT_EQ(read(isa, Storage::kBf16, bits)[3], -2.0F);
  }
}

TEST(Convert, ShortIntegersKeepLowBits) {
  const std::vector<float> values = {-1, -2.7F, 255.9F, 256, -300.2F, std::nanf("")};
  for (const Isa isa : isas_to_test()) {
    EXPECT_EQ(stored<std::uint8_t>(isa, Storage::kU8, values),
              (std::vector<std::uint8_t>{255, 254, 255, 0, 212, 0}));
    EXPECT_EQ(stored<std::int8_t>(isa, Storage::kI8, values),
              (std::vector<std::int8_t>{-1, -2, -1, 0, -44, 0}));
  }
}

TEST(Convert, LongIntegersSaturate) {
  const std::vector<float> values = {-1.5F, 3e9F, -3e9F, kInfinity, -kInfinity, std::nanf("")};
  for (const Isa isa : isas_to_test()) {
    EXPECT_EQ(stored<std::int32_t>(isa, Storage::kI32, values),
              (std::vector<std::int32_t>{-1, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, 0}));
    EXPECT_EQ(stored<std::int64_t>(isa, Storage::kI64, values),
              (std::vector<std::int64_t>{-1, 3000000000, -3000000000, INT64_MAX, INT64_MIN, 0}));
  }
}

}  // namespace
}  // namespace sluice::cpu
