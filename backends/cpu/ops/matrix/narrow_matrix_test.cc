#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <tuple>
#include <vector>

#include "kernels/convert/convert.h"
#include "plugin/registry.h"
#include "testing/op_testing.h"
#include "testing/test_support.h"

namespace sluice::cpu {
namespace {

using Floats = std::vector<float>;

struct HalfType {
  sluice_element_type element;
  Storage storage;
  const char* form;
};

constexpr HalfType kHalfTypes[] = {{plugin::kF16, Storage::kF16, "panels_f16/"},
                                   {plugin::kBf16, Storage::kBf16, "pairs_bf16/"}};

constexpr std::int64_t kK = 40;
constexpr std::int64_t kN = 150;

/// Rounds `values` to the type, and gives their bits.
std::vector<std::uint16_t> round_to(const HalfType& type, Floats& values) {
  std::vector<std::uint16_t> bits(values.size());
  const auto count = static_cast<std::int64_t>(values.size());
  portable::from_floats(type.storage, values.data(), count, bits.data());
  portable::to_floats(type.storage, bits.data(), count, values.data());
  return bits;
}

/// x [rows][kK] times w, which is [kK][kN] or [kN][kK], plus 1.
Floats multiply(const Floats& x, const Floats& w, std::int64_t rows, bool is_flipped) {
  Floats y;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < kN; ++j) {
      double sum = 1;
      for (std::int64_t p = 0; p < kK; ++p) {
        const std::int64_t at = is_flipped ? j * kK + p : p * kN + j;
        sum += double{x[static_cast<std::size_t>(i * kK + p)]} * w[static_cast<std::size_t>(at)];
      }
      y.push_back(static_cast<float>(sum));
    }
  }
  return y;
}

TestOp product_of(const Floats& x, const std::vector<std::uint16_t>& bits, std::int64_t rows,
                  bool is_flipped, sluice_element_type element) {
  TestOp op("NarrowMatMul", "sluice", 1);
  op.input({rows, kK}, x);
  op.input<std::uint16_t>(is_flipped ? Shape{kN, kK} : Shape{kK, kN}, bits, true);
  op.set_input_type(1, element).attribute("transB", std::int64_t{is_flipped});
  op.output({rows, kN}).body_constant(1.0F).step("Add", {0, 1});
  return op;
}

TEST(NarrowMatMul, ComputesInF32WithWeightsOf16Bits) {
  for (const HalfType& type : kHalfTypes) {
    for (const std::int64_t rows : {1, 5, 30}) {
      for (const bool is_flipped : {false, true}) {
        const Floats x = random_floats(rows * kK, 1);
        Floats w = random_floats(kK * kN, 2);
        const std::vector<std::uint16_t> bits = round_to(type, w);
        const Floats want = multiply(x, w, rows, is_flipped);
        for (const Backend& backend : backends_to_test()) {
          TestOp op = product_of(x, bits, rows, is_flipped, type.element);
          const Status status = op.run(backend, 2);
          ASSERT_TRUE(status.is_ok()) << status.text;
          const Floats got = op.result();
          ASSERT_EQ(got.size(), want.size());
          for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-4F);
        }
      }
    }
  }
}

TEST(NarrowMatMul, PacksHalfOfTheBytesThatF32Takes) {
  for (const HalfType& type : kHalfTypes) {
    for (const Backend& backend : backends_to_test()) {
      TestOp op =
          product_of(Floats(kK), std::vector<std::uint16_t>(kK * kN), 1, false, type.element);
      sluice_packing packing = {};
      ASSERT_TRUE(backend.packing(op.op(), 1, &packing).is_ok());
      EXPECT_LE(packing.size_bytes, kK * (kN + 15) * 2);
      EXPECT_TRUE(std::string_view(packing.format).starts_with(type.form)) << packing.format;
    }
  }
}

TEST(NarrowMatMul, MayComputeInEightBits) {
  const Floats x = random_floats(5 * kK, 1);
  Floats w = random_floats(kK * kN, 2);
  const std::vector<std::uint16_t> bits = round_to(kHalfTypes[0], w);
  const Floats want = multiply(x, w, 5, false);
  for (const Backend& backend : backends_to_test()) {
    TestOp op = product_of(x, bits, 5, false, plugin::kF16);
    op.attribute("sluice_weights", "int8");
    const Status status = op.run(backend, 2);
    ASSERT_TRUE(status.is_ok()) << status.text;
    const Floats got = op.result();
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 0.1F);
  }
}

TEST(NarrowMatMul, MultipliesBytesWithTheirOwnScales) {
  const Floats x = random_floats(5 * kK, 1);
  std::vector<std::int8_t> bytes;
  for (std::int64_t i = 0; i < kK * kN; ++i) {
    bytes.push_back(static_cast<std::int8_t>(i * 37 % 256 - 128));
  }
  const Floats scales = random_floats(kN, 3);
  for (const bool is_flipped : {false, true}) {
    Floats w;
    for (std::int64_t i = 0; i < kK * kN; ++i) {
      const auto column = static_cast<std::size_t>(is_flipped ? i / kK : i % kN);
      w.push_back(static_cast<float>(bytes[static_cast<std::size_t>(i)]) * scales[column]);
    }
    const Floats want = multiply(x, w, 5, is_flipped);
    for (const Backend& backend : backends_to_test()) {
      TestOp op("NarrowMatMul", "sluice", 1);
      op.input({5, kK}, x).input(is_flipped ? Shape{kN, kK} : Shape{kK, kN}, bytes, true);
      op.input(is_flipped ? Shape{kN, 1} : Shape{1, kN}, scales, true).output({5, kN});
      op.attribute("transB", std::int64_t{is_flipped}).attribute("block_size", kK);
      op.attribute("sluice_weights", "int8").body_constant(1.0F).step("Add", {0, 1});
      const Status accepted = find_entry("sluice", "NarrowMatMul")->check(op.op());
      ASSERT_TRUE(accepted.is_ok()) << accepted.text;
      const Status status = op.run(backend, 2);
      ASSERT_TRUE(status.is_ok()) << status.text;
      const Floats got = op.result();
      for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 5.0F);
    }
  }
}

// ---- weights in blocks --------------------------------------------------------------------------

enum class Zeros { kSigned, kOne, kEach, kFloats };

struct BlockCase {
  int bits = 4;
  Zeros zeros = Zeros::kEach;
  std::int64_t block = 32;
  std::int64_t depth = 288;  ///< more than one piece of K
  bool rounds_rows = false;
  std::int64_t columns = kN;

  std::int64_t blocks() const { return (depth + block - 1) / block; }
  std::int64_t places() const { return blocks() * block; }
};

struct BlockWeights {
  std::vector<std::uint8_t> numbers, zeros;
  Floats float_zeros, scales;
};

BlockWeights some_blocks(const BlockCase& c) {
  BlockWeights w;
  std::uint32_t state = 1;
  const auto fill = [&](std::vector<std::uint8_t>& bytes, std::int64_t numbers) {
    for (std::int64_t i = 0; i < (numbers * c.bits + 7) / 8; ++i) {
      state = state * 1664525U + 1013904223U;
      bytes.push_back(static_cast<std::uint8_t>(state >> 24));
    }
  };
  fill(w.numbers, c.columns * c.places());
  if (c.zeros == Zeros::kOne) fill(w.zeros, 1);
  if (c.zeros == Zeros::kEach) fill(w.zeros, c.columns * c.blocks());
  if (c.zeros == Zeros::kFloats) w.float_zeros = random_floats(c.columns * c.blocks(), 4);
  w.scales = random_floats(c.columns * c.blocks(), 3);
  for (float& scale : w.scales) scale /= static_cast<float>(1 << (c.bits - 4));
  return w;
}

int number_at(const std::vector<std::uint8_t>& packed, int bits, std::int64_t index) {
  if (bits == 8) return packed[static_cast<std::size_t>(index)];
  return packed[static_cast<std::size_t>(index / 2)] >> (index % 2 * 4) & 15;
}

float weight_at(const BlockCase& c, const BlockWeights& w, std::int64_t p, std::int64_t j) {
  const std::int64_t block = j * c.blocks() + p / c.block;
  auto number = static_cast<float>(number_at(w.numbers, c.bits, j * c.places() + p));
  const auto range = static_cast<float>(1 << c.bits);
  switch (c.zeros) {
    case Zeros::kSigned: number -= number >= range / 2 ? range : 0; break;
    case Zeros::kOne: number -= static_cast<float>(number_at(w.zeros, c.bits, 0)); break;
    case Zeros::kEach: number -= static_cast<float>(number_at(w.zeros, c.bits, block)); break;
    case Zeros::kFloats: number -= w.float_zeros[static_cast<std::size_t>(block)]; break;
  }
  return number * w.scales[static_cast<std::size_t>(block)];
}

/// The products plus 1, and the root of the sum of their terms' squares.
struct Expected {
  Floats sums, sizes;
};

Expected multiply_blocks(const Floats& x, const BlockCase& c, const BlockWeights& w,
                         std::int64_t rows) {
  Floats matrix;
  for (std::int64_t j = 0; j < c.columns; ++j) {
    for (std::int64_t p = 0; p < c.depth; ++p) matrix.push_back(weight_at(c, w, p, j));
  }
  Expected expected;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < c.columns; ++j) {
      double sum = 1, size = 1;
      for (std::int64_t p = 0; p < c.depth; ++p) {
        const double term = double{x[static_cast<std::size_t>(i * c.depth + p)]} *
                            matrix[static_cast<std::size_t>(j * c.depth + p)];
        sum += term;
        size += term * term;
      }
      expected.sums.push_back(static_cast<float>(sum));
      expected.sizes.push_back(static_cast<float>(std::sqrt(size)));
    }
  }
  return expected;
}

TestOp block_product(const Floats& x, const BlockCase& c, const BlockWeights& w,
                     std::int64_t rows) {
  const bool has_sign = c.zeros == Zeros::kSigned;
  const sluice_element_type type =
      c.bits == 8 ? (has_sign ? plugin::kI8 : plugin::kU8) : (has_sign ? plugin::kI4 : plugin::kU4);
  TestOp op("NarrowMatMul", "sluice", 1);
  op.input({rows, c.depth}, x)
      .input({c.columns, c.places()}, w.numbers, true)
      .set_input_type(1, type);
  op.input({c.columns, c.blocks()}, w.scales, true);
  const Shape each = {c.columns, c.blocks()};
  if (c.zeros == Zeros::kFloats) op.input(each, w.float_zeros, true);
  if (!w.zeros.empty()) {
    op.input(c.zeros == Zeros::kOne ? Shape{1} : each, w.zeros, true).set_input_type(3, type);
  }
  op.attribute("transB", std::int64_t{1}).attribute("block_size", c.block);
  if (c.rounds_rows) op.attribute("sluice_weights", "int8");
  op.output({rows, c.columns}).body_constant(1.0F).step("Add", {0, 1});
  return op;
}

void expect_products(const BlockCase& c, std::int64_t rows) {
  const BlockWeights w = some_blocks(c);
  const Floats x = random_floats(rows * c.depth, 1);
  const Expected want = multiply_blocks(x, c, w, rows);
  const float tolerance = c.rounds_rows ? 0.02F : 1e-5F;
  for (const Backend& backend : backends_to_test()) {
    for (const int workers : {1, 3}) {
      TestOp op = block_product(x, c, w, rows);
      const Status accepted = find_entry("sluice", "NarrowMatMul")->check(op.op());
      ASSERT_TRUE(accepted.is_ok()) << accepted.text;
      const Status status = op.run(backend, workers);
      ASSERT_TRUE(status.is_ok()) << status.text;
      const Floats got = op.result();
      ASSERT_EQ(got.size(), want.sums.size());
      for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_NEAR(got[i], want.sums[i], tolerance * want.sizes[i])
            << rows << " rows at " << i << ", " << c.bits << " bits, blocks of " << c.block;
      }
    }
  }
}

class BlockProduct : public ::testing::TestWithParam<std::tuple<int, Zeros, bool>> {
 protected:
  BlockCase some_case() const {
    return {.bits = std::get<0>(GetParam()),
            .zeros = std::get<1>(GetParam()),
            .rounds_rows = std::get<2>(GetParam())};
  }
};

INSTANTIATE_TEST_SUITE_P(NarrowMatMul, BlockProduct,
                         ::testing::Combine(::testing::Values(4, 8),
                                            ::testing::Values(Zeros::kSigned, Zeros::kOne,
                                                              Zeros::kEach, Zeros::kFloats),
                                            ::testing::Bool()));

TEST_P(BlockProduct, MultipliesAnyNumberOfRows) {
  for (const std::int64_t rows : {1, 2, 3, 4, 5, 6, 7, 12, 13, 25, 40, 250}) {
    expect_products(some_case(), rows);
  }
}

TEST_P(BlockProduct, RoundsARowAlikeAmongManyAndAlone) {
  const BlockCase c = some_case();
  const BlockWeights w = some_blocks(c);
  constexpr std::int64_t kRows = 37;
  const Floats x = random_floats(kRows * c.depth, 1);
  const Floats sizes = multiply_blocks(x, c, w, kRows).sizes;
  for (const Backend& backend : backends_to_test()) {
    TestOp many = block_product(x, c, w, kRows);
    ASSERT_TRUE(many.run(backend, 2).is_ok());
    const Floats got = many.result();
    for (std::int64_t i = 0; i < kRows; ++i) {
      const auto row = x.begin() + i * c.depth;
      TestOp one = block_product(Floats(row, row + c.depth), c, w, 1);
      ASSERT_TRUE(one.run(backend, 1).is_ok());
      const Floats want = one.result();
      for (std::size_t j = 0; j < want.size(); ++j) {
        const std::size_t at = static_cast<std::size_t>(i * c.columns) + j;
        ASSERT_NEAR(got[at], want[j], 1e-5F * sizes[at]) << "row " << i << ", column " << j;
      }
    }
  }
}

TEST_P(BlockProduct, GivesARowTheSameBitsAloneAndAmongAFew) {
  const BlockCase c = some_case();
  const BlockWeights w = some_blocks(c);
  constexpr std::int64_t kRows = 6;
  const Floats x = random_floats(kRows * c.depth, 1);
  for (const Backend& backend : backends_to_test()) {
    TestOp few = block_product(x, c, w, kRows);
    ASSERT_TRUE(few.run(backend, 1).is_ok());
    const Floats got = few.result();
    for (std::int64_t i = 0; i < kRows; ++i) {
      const auto row = x.begin() + i * c.depth;
      TestOp one = block_product(Floats(row, row + c.depth), c, w, 1);
      ASSERT_TRUE(one.run(backend, 1).is_ok());
      const auto begin = got.begin() + i * c.columns;
      EXPECT_EQ(one.result(), Floats(begin, begin + c.columns)) << "row " << i;
    }
  }
}

TEST_P(BlockProduct, TakesAnyNumberOfColumns) {
  for (const std::int64_t columns : {1, 3, 5, 257, 531}) {
    BlockCase c = some_case();
    c.columns = columns;
    for (const std::int64_t rows : {1, 2, 4}) expect_products(c, rows);
  }
}

TEST_P(BlockProduct, TakesBlocksOfManySizes) {
  for (const std::int64_t block : {16, 64, 128, 512}) {
    BlockCase c = some_case();
    c.block = block;
    for (const std::int64_t rows : {1, 4, 5, 13}) expect_products(c, rows);
  }
}

TEST_P(BlockProduct, LeavesOutThePlacesBehindItsDepth) {
  for (const std::int64_t depth : {1, 31, 33, 257, 300}) {
    BlockCase c = some_case();
    c.depth = depth;
    for (const std::int64_t rows : {1, 5, 13}) expect_products(c, rows);
  }
}

TEST(NarrowMatMul, MakesNanOfABlockThatIsNotFinite) {
  for (const bool rounds : {false, true}) {
    const BlockCase c = {.rounds_rows = rounds};
    const BlockWeights w = some_blocks(c);
    Floats x = random_floats(c.depth, 1);
    x[40] = std::numeric_limits<float>::quiet_NaN();
    for (const Backend& backend : backends_to_test()) {
      for (const std::int64_t rows : {1, 13}) {
        Floats all;
        for (std::int64_t i = 0; i < rows; ++i) all.insert(all.end(), x.begin(), x.end());
        TestOp op = block_product(all, c, w, rows);
        ASSERT_TRUE(op.run(backend, 1).is_ok());
        for (const float y : op.result()) EXPECT_TRUE(std::isnan(y));
      }
    }
  }
}

TEST(NarrowMatMul, PacksNothingForBlocks) {
  for (const int bits : {4, 8}) {
    const BlockCase c = {.bits = bits};
    const BlockWeights w = some_blocks(c);
    for (const Backend& backend : backends_to_test()) {
      TestOp op = block_product(Floats(static_cast<std::size_t>(c.depth)), c, w, 1);
      sluice_packing packing = {};
      ASSERT_TRUE(backend.packing(op.op(), 1, &packing).is_ok());
      EXPECT_EQ(packing.size_bytes, 0);
    }
  }
}

TEST(NarrowMatMul, RefusesBlocksThatAreNoPowersOfTwo) {
  BlockCase c;
  for (const std::int64_t block : {8, 24, 48}) {
    c.block = block;
    const BlockWeights w = some_blocks(c);
    TestOp op = block_product(Floats(static_cast<std::size_t>(c.depth)), c, w, 1);
    EXPECT_FALSE(find_entry("sluice", "NarrowMatMul")->check(op.op()).is_ok()) << block;
  }
}

TEST(NarrowMatMul, RefusesRowsThatAreABlockShort) {
  const BlockCase c;
  const BlockWeights w = some_blocks(c);
  for (const std::int64_t depth : {c.depth - c.block, c.depth + 1}) {
    TestOp op("NarrowMatMul", "sluice", 1);
    op.input({1, depth}, Floats(static_cast<std::size_t>(depth)));
    op.input({kN, c.places()}, w.numbers, true).set_input_type(1, plugin::kU4);
    op.input({kN, c.blocks()}, w.scales, true);
    op.attribute("transB", std::int64_t{1}).attribute("block_size", c.block).output({1, kN});
    EXPECT_FALSE(find_entry("sluice", "NarrowMatMul")->check(op.op()).is_ok()) << depth;
  }
}

}  // namespace
}  // namespace sluice::cpu
