// Elements that share bytes are moved, quantized and read back as whole ones are.
#include <gtest/gtest.h>

#include "reference/testing/test_tensors.h"

namespace sluice::reference {
namespace {

using Longs = std::vector<std::int64_t>;
using Bytes = std::vector<std::uint8_t>;

TestTensor packed(Longs dims, sluice_element_type type, const Bytes& bytes) {
  TestTensor tensor(std::move(dims), type, bytes.size());
  if (!bytes.empty()) std::memcpy(tensor.view().data, bytes.data(), bytes.size());
  return tensor;
}

TEST(SmallElements, FourBitTransposePadsTheLastByteWithZeros) {
  TestTensor y = packed({3, 1}, plugin::kU4, {0xff, 0xff});
  const TestTensor x = packed({1, 3}, plugin::kU4, {0x21, 0xf3});
  EXPECT_EQ(TestOp("Transpose").run({x}, y), "");
  EXPECT_EQ(y.values<std::uint8_t>(), (Bytes{0x21, 0x03}));
}

TEST(SmallElements, FourBitElementsAreGathered) {
  TestTensor y = packed({2}, plugin::kI2, {0});
  const TestTensor x = packed({4}, plugin::kI2, {0b11'10'01'00});
  EXPECT_EQ(TestOp("Gather").run({x, {{2}, Longs{3, 1}}}, y), "");
  EXPECT_EQ(y.values<std::uint8_t>(), (Bytes{0b01'11}));
}

TEST(QuantizeLinear, CutsToTheRangeOfFourBits) {
  TestTensor y = packed({4}, plugin::kI4, {0, 0});
  const TestTensor x({4}, std::vector<float>{100, -100, 1, -1});
  const TestTensor scale({}, std::vector<float>{0.5F});
  EXPECT_EQ(TestOp("QuantizeLinear", "", 21).run({x, scale, packed({}, plugin::kI4, {1})}, y), "");
  EXPECT_EQ(y.values<std::uint8_t>(), (Bytes{0x87, 0xf3}));
}

TEST(DequantizeLinear, ReadsBlocksOfSmallFloats) {
  TestTensor y({4}, std::vector<float>(4));
  const TestTensor x = packed({4}, plugin::kF4E2M1, {0x21, 0xf3});  // 0.5, 1, 1.5, -6
  const TestTensor scale({2}, std::vector<float>{2, 10});
  EXPECT_EQ(
      TestOp("DequantizeLinear", "", 23).with("block_size", 2).with("axis", -1).run({x, scale}, y),
      "");
  EXPECT_EQ(y.values<float>(), (std::vector<float>{1, 2, 15, -60}));
}

}  // namespace
}  // namespace sluice::reference
