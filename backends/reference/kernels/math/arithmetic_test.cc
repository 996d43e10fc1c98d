// Where C++ leaves arithmetic undefined, the kernels do not.
#include "reference/arithmetic.h"

#include <gtest/gtest.h>

#include "reference/small_floats.h"
#include "reference/testing/test_tensors.h"

namespace sluice::reference {
namespace {

template <typename T>
TestTensor vector(const std::vector<T>& values) {
  return {{static_cast<std::int64_t>(values.size())}, values};
}

constexpr auto kLeast = std::numeric_limits<std::int32_t>::min();

TEST(Div, CutsTowardsZeroWrapsAndRefusesZero) {
  using Ints = std::vector<std::int32_t>;
  TestTensor y = vector(Ints(3));
  EXPECT_EQ(TestOp("Div").run({vector(Ints{-7, 7, kLeast}), vector(Ints{2, -2, -1})}, y), "");
  EXPECT_EQ(y.values<std::int32_t>(), (Ints{-3, -3, kLeast}));
  EXPECT_EQ(TestOp("Div").run({vector(Ints{1, 2, 3}), vector(Ints{1, 0, 1})}, y),
            "Div: integer division by zero");
}

TEST(Mod, HasTheSignOfTheDivisorOrWithFmodOfTheDividend) {
  using Ints = std::vector<std::int32_t>;
  TestTensor y = vector(Ints(3));
  const TestTensor a = vector(Ints{-7, 7, kLeast});
  const TestTensor b = vector(Ints{3, -3, -1});
  EXPECT_EQ(TestOp("Mod").run({a, b}, y), "");
  EXPECT_EQ(y.values<std::int32_t>(), (Ints{2, -2, 0}));
  EXPECT_EQ(TestOp("Mod").with("fmod", 1).run({a, b}, y), "");
  EXPECT_EQ(y.values<std::int32_t>(), (Ints{-1, 1, 0}));
  EXPECT_NE(TestOp("Mod").run({a, vector(Ints{1, 1, 0})}, y), "");
}

TEST(Mod, FloatZeroTakesTheSignOfTheDivisor) {
  TestTensor z = vector(std::vector<float>(2));
  const TestTensor a = vector(std::vector<float>{-0.0F, 6});
  EXPECT_EQ(TestOp("Mod", "", 28).run({a, vector(std::vector<float>{3, -3})}, z), "");
  EXPECT_FALSE(std::signbit(z.values<float>()[0]));
  EXPECT_TRUE(std::signbit(z.values<float>()[1]));
}

TEST(BitShift, BeyondTheWidthLeavesZero) {
  using Bytes = std::vector<std::uint8_t>;
  TestTensor y = vector(Bytes(3));
  const TestTensor x = vector(Bytes{255, 255, 255});
  const TestTensor count = vector(Bytes{1, 8, 200});
  EXPECT_EQ(TestOp("BitShift").with("direction", "LEFT").run({x, count}, y), "");
  EXPECT_EQ(y.values<std::uint8_t>(), (Bytes{254, 0, 0}));
  EXPECT_EQ(TestOp("BitShift").with("direction", "RIGHT").run({x, count}, y), "");
  EXPECT_EQ(y.values<std::uint8_t>(), (Bytes{127, 0, 0}));
  EXPECT_NE(TestOp("BitShift").with("direction", "UP").run({x, count}, y), "");
}

TEST(Arithmetic, IntegerOverflowWraps) {
  constexpr auto kMax = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(add(kMax, 1), kLeast);
  EXPECT_EQ(multiply(kMax, 2), -2);
  EXPECT_EQ(negate(kLeast), kLeast);
  EXPECT_EQ(multiply<std::int16_t>(-32768, -32768), 0);
}

TEST(Convert, SaturatesFloatsAndTakesNanForZero) {
  EXPECT_EQ(convert<std::int32_t>(1e30), std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(convert<std::int32_t>(-1e30), kLeast);
  EXPECT_EQ(convert<std::uint8_t>(-1.0F), 0);
  EXPECT_EQ(convert<std::int64_t>(9.3e18), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(convert<std::int32_t>(std::nanf("")), 0);
  EXPECT_EQ(convert<std::int32_t>(-2.9), -2);
}

TEST(SmallFloats, DecodeAndEncodeAreInverse) {
  for (const auto type : {plugin::kF8E4M3Fn, plugin::kF8E4M3Fnuz, plugin::kF8E5M2,
                          plugin::kF8E5M2Fnuz, plugin::kF4E2M1}) {
    const SmallFloat format = *SmallFloat::of(type);
    const int count = 1 << plugin::element_bits(type);
    for (int bits = 0; bits < count; ++bits) {
      const float value = format.decode(static_cast<std::uint8_t>(bits));
      if (std::isnan(value)) continue;
      EXPECT_EQ(format.encode(value, false), bits) << type << " " << value;
    }
  }
}

TEST(SmallFloats, RoundToEvenAndSaturateIfAsked) {
  const SmallFloat e4m3 = *SmallFloat::of(plugin::kF8E4M3Fn);
  EXPECT_EQ(e4m3.decode(0x7e), 448.0F);
  EXPECT_EQ(e4m3.encode(1.0625F, true), 0x38);  // between 1 and 1.125
  EXPECT_EQ(e4m3.encode(1.1875F, true), 0x3a);
  EXPECT_EQ(e4m3.encode(1e9F, true), 0x7e);
  EXPECT_EQ(e4m3.encode(-1e9F, false), 0xff);  // NaN: there is no infinity
  const SmallFloat e5m2 = *SmallFloat::of(plugin::kF8E5M2);
  EXPECT_EQ(e5m2.encode(1e9F, false), 0x7c);
  EXPECT_EQ(e5m2.encode(1e9F, true), 0x7b);
}

TEST(PackedBits, TwoFourBitElementsShareAByte) {
  std::byte bytes[2] = {};
  const PackedBits nibbles(bytes, 4);
  nibbles.set(0, 0x3);
  nibbles.set(1, 0xc);
  nibbles.set(3, 0xf);
  EXPECT_EQ(bytes[0], std::byte{0xc3});
  EXPECT_EQ(bytes[1], std::byte{0xf0});
  EXPECT_EQ(nibbles.get(1), 0xc);
}

}  // namespace
}  // namespace sluice::reference
