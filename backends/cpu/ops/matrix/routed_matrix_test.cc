#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/convert/convert.h"
#include "plugin/registry.h"
#include "testing/agreement.h"
#include "testing/test_support.h"

namespace sluice::cpu {
namespace {

using Longs = std::vector<std::int64_t>;
constexpr std::int64_t kRoutedK = 64;
constexpr std::int64_t kRoutedN = 70;
constexpr std::int64_t kStacked = 5;

Agreement routed_agreement(float tolerance) {
  return {.kind = "RoutedMatMul", .version = 1, .domain = "sluice", .tolerance = tolerance};
}

/// Tokens with `each` routes; the matrix before the last has none.
struct RoutedCase {
  std::int64_t tokens = 1, each = 2;
  bool has_own_rows = false;
  std::int64_t none = 0;  ///< each so many-th route is -1; 0: none is

  Longs routes() const {
    Longs all;
    for (std::int64_t i = 0; i < tokens * each; ++i) {
      if (none > 0 && i % none == 0) {
        all.push_back(-1);
        continue;
      }
      const std::int64_t route = (i * i + i / 3) % kStacked;
      all.push_back(route == kStacked - 2 ? 0 : route);
    }
    return all;
  }
  void add_rows(TestOp& op) const {
    const std::int64_t rows = has_own_rows ? tokens * each : tokens;
    const Shape dims = has_own_rows ? Shape{tokens, each, kRoutedK} : Shape{tokens, kRoutedK};
    op.input(dims, random_floats(rows * kRoutedK, 1));
  }
  void add_routes(TestOp& op) const {
    op.input<std::int64_t>({tokens, each}, routes()).output({tokens, each, kRoutedN});
  }
};

std::vector<RoutedCase> routed_cases() {
  return {{1, 2}, {1, 2, true},     {7, 3},          {7, 3, true},     {40, 4, true},
          {0, 2}, {1, 1, false, 1}, {5, 1, true, 1}, {7, 3, false, 2}, {40, 4, true, 3}};
}

void add_floats(TestOp& op, sluice_element_type element) {
  const std::vector<float> b = random_floats(kStacked * kRoutedN * kRoutedK, 2);
  const Shape dims = {kStacked, kRoutedN, kRoutedK};
  if (element == plugin::kF32) {
    op.input(dims, b, true);
  } else {
    std::vector<std::uint16_t> bits(b.size());
    const Storage storage = element == plugin::kF16 ? Storage::kF16 : Storage::kBf16;
    portable::from_floats(storage, b.data(), std::ssize(b), bits.data());
    op.input(dims, bits, true).set_input_type(1, element);
  }
  op.absent_input().absent_input();
}

TEST(RoutedMatMul, MultipliesEachRowWithItsMatrices) {
  for (const sluice_element_type element : {plugin::kF32, plugin::kF16, plugin::kBf16}) {
    for (const RoutedCase& c : routed_cases()) {
      expect_agreement(
          [&](TestOp& op) {
            c.add_rows(op);
            add_floats(op, element);
            c.add_routes(op);
          },
          routed_agreement(1e-4F));
    }
  }
}

TEST(RoutedMatMul, RoundsRowsTo8BitsWhereItMay) {
  for (const sluice_element_type element : {plugin::kF32, plugin::kBf16}) {
    for (const RoutedCase& c : routed_cases()) {
      expect_agreement(
          [&](TestOp& op) {
            c.add_rows(op);
            add_floats(op, element);
            c.add_routes(op);
            op.attribute("sluice_weights", "int8");
          },
          routed_agreement(0.2F));
    }
  }
}

struct StackedBlocks {
  sluice_element_type element;
  bool has_float_zeros;
  const char* weights;  ///< sluice_weights
};

void add_blocks(TestOp& op, const StackedBlocks& blocks) {
  constexpr std::int64_t kBlock = 32;
  const bool is_nibble = blocks.element == plugin::kU4 || blocks.element == plugin::kI4;
  std::vector<std::uint8_t> numbers;
  const std::int64_t count = kStacked * kRoutedN * kRoutedK / (is_nibble ? 2 : 1);
  for (std::int64_t i = 0; i < count; ++i) {
    numbers.push_back(static_cast<std::uint8_t>(i * i * 7 + i));
  }
  const Shape each = {kStacked, kRoutedN, kRoutedK / kBlock};
  op.input({kStacked, kRoutedN, kRoutedK}, numbers, true).set_input_type(1, blocks.element);
  std::vector<float> scales = random_floats(kStacked * kRoutedN * kRoutedK / kBlock, 3);
  for (float& scale : scales) scale /= is_nibble ? 8 : 128;
  op.input(each, scales, true);
  if (blocks.has_float_zeros) {
    op.input(each, random_floats(kStacked * kRoutedN * kRoutedK / kBlock, 4), true);
  } else {
    op.absent_input();
  }
  op.attribute("block_size", kBlock);
  if (*blocks.weights != 0) op.attribute("sluice_weights", blocks.weights);
}

TEST(RoutedMatMul, TakesNumbersOfFewBitsByBlocks) {
  for (const StackedBlocks& blocks : {StackedBlocks{plugin::kI4, false, ""},
                                      {plugin::kU4, true, ""},
                                      {plugin::kI8, false, ""},
                                      {plugin::kU8, true, ""},
                                      {plugin::kI4, false, "int8"},
                                      {plugin::kI8, false, "int8"}}) {
    const Agreement about = routed_agreement(*blocks.weights != 0 ? 0.2F : 1e-4F);
    for (const RoutedCase& c : routed_cases()) {
      expect_agreement(
          [&](TestOp& op) {
            c.add_rows(op);
            add_blocks(op, blocks);
            c.add_routes(op);
          },
          about);
    }
  }
}

TEST(RoutedMatMul, RefusesRoutesOutOfRange) {
  for (const Backend& backend : backends_to_test()) {
    for (const std::int64_t route : {std::int64_t{-2}, kStacked}) {
      TestOp op("RoutedMatMul", "sluice", 1);
      RoutedCase{2, 2}.add_rows(op);
      add_floats(op, plugin::kF32);
      op.input<std::int64_t>({2, 2}, {0, 1, 2, route}).output({2, 2, kRoutedN});
      const Status status = op.run(backend, 2);
      EXPECT_EQ(status.code, SLUICE_OUT_OF_RANGE) << status.text;
    }
  }
}

TEST(RoutedMatMul, PacksEachMatrixOfTheStackByItself) {
  for (const Backend& backend : backends_to_test()) {
    TestOp op("RoutedMatMul", "sluice", 1);
    RoutedCase{1, 2}.add_rows(op);
    add_floats(op, plugin::kBf16);
    op.input<std::int64_t>({1, 2}, {0, 1}).output({1, 2, kRoutedN});
    sluice_packing packing = {};
    ASSERT_TRUE(backend.packing(op.op(), 1, &packing).is_ok());
    EXPECT_EQ(packing.size_bytes % kStacked, 0);
    EXPECT_GE(packing.size_bytes, kStacked * kRoutedN * kRoutedK * 2);
  }
}

}  // namespace
}  // namespace sluice::cpu
