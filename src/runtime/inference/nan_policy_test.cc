#include "runtime/inference/nan_policy.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace sluice::runtime {
namespace {

template <typename Word>
bool finds_one(ir::ElementType element, std::vector<Word> words) {
  const auto count = static_cast<std::int64_t>(words.size());
  return holds_nan(
      {words.data(), count * static_cast<std::int64_t>(sizeof(Word)), element, {count}});
}

constexpr std::uint64_t kNan64 = 0x7FF8000000000000U;
constexpr std::uint64_t kInfinity64 = 0x7FF0000000000000U;

TEST(HoldsNan, SeesThoseOfEveryFloat) {
  EXPECT_TRUE(finds_one<std::uint16_t>(ir::ElementType::kF16, {0, 0x7E00}));
  EXPECT_TRUE(finds_one<std::uint16_t>(ir::ElementType::kBf16, {0, 0x7FC0}));
  EXPECT_TRUE(finds_one<std::uint32_t>(ir::ElementType::kF32, {0, 0x7FC00000}));
  EXPECT_TRUE(finds_one<std::uint64_t>(ir::ElementType::kF64, {0, kNan64}));
  EXPECT_TRUE(finds_one<std::uint16_t>(ir::ElementType::kBf16, {0xFF81, 0})) << "with a sign";
}

TEST(HoldsNan, TakesNoInfinityAndNoIntegerForOne) {
  EXPECT_FALSE(finds_one<std::uint16_t>(ir::ElementType::kF16, {0x7C00, 0xFC00}));
  EXPECT_FALSE(finds_one<std::uint16_t>(ir::ElementType::kBf16, {0x7F80, 0xFF80}));
  EXPECT_FALSE(finds_one<std::uint32_t>(ir::ElementType::kF32, {0x7F800000, 0xFF800000}));
  EXPECT_FALSE(finds_one<std::uint64_t>(ir::ElementType::kF64, {kInfinity64}));
  EXPECT_FALSE(finds_one<std::uint32_t>(ir::ElementType::kI32, {0x7FC00000}));
}

}  // namespace
}  // namespace sluice::runtime
