#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>
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

// ---- weights of 4 bits --------------------------------------------------------------------------

constexpr std::int64_t kBlock = 32;
constexpr std::int64_t kDeep = 288;  // more than one piece of K
constexpr std::int64_t kBlocks = kDeep / kBlock;

struct NibbleWeights {
  std::vector<std::uint8_t> nibbles;
  std::vector<std::uint8_t> zeros;  ///< empty: the numbers have signs
  Floats scales;
};

NibbleWeights some_nibbles(bool has_zeros = true) {
  NibbleWeights w;
  std::uint32_t state = 1;
  const auto next = [&state] { return state = state * 1664525U + 1013904223U; };
  for (std::int64_t i = 0; i < kN * kDeep / 2; ++i) {
    w.nibbles.push_back(static_cast<std::uint8_t>(next() >> 24));
  }
  for (std::int64_t i = 0; has_zeros && i < kN * kBlocks / 2; ++i) {
    w.zeros.push_back(static_cast<std::uint8_t>(next() >> 24));
  }
  w.scales = random_floats(kN * kBlocks, 3);
  return w;
}

int nibble(const std::vector<std::uint8_t>& nibbles, std::int64_t index) {
  return nibbles[static_cast<std::size_t>(index / 2)] >> (index % 2 * 4) & 15;
}

Floats multiply_nibbles(const Floats& x, const NibbleWeights& w, std::int64_t rows) {
  Floats y;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < kN; ++j) {
      double sum = 1;
      for (std::int64_t p = 0; p < kDeep; ++p) {
        const std::int64_t block = j * kBlocks + p / kBlock;
        const int number = nibble(w.nibbles, j * kDeep + p);
        const int zero = w.zeros.empty() ? number / 8 * 16 : nibble(w.zeros, block);
        const int steps = number - zero;
        sum += double{x[static_cast<std::size_t>(i * kDeep + p)]} * steps *
               w.scales[static_cast<std::size_t>(block)];
      }
      y.push_back(static_cast<float>(sum));
    }
  }
  return y;
}

TestOp nibble_product(const Floats& x, const NibbleWeights& w, std::int64_t rows) {
  TestOp op("NarrowMatMul", "sluice", 1);
  op.input({rows, kDeep}, x).input({kN, kDeep}, w.nibbles, true);
  op.input({kN, kBlocks}, w.scales, true);
  op.set_input_type(1, w.zeros.empty() ? plugin::kI4 : plugin::kU4);
  if (!w.zeros.empty()) {
    op.input({kN, kBlocks}, w.zeros, true).set_input_type(3, plugin::kU4);
  }
  op.attribute("transB", std::int64_t{1}).attribute("block_size", kBlock);
  op.output({rows, kN}).body_constant(1.0F).step("Add", {0, 1});
  return op;
}

class NibbleProduct : public ::testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(NarrowMatMul, NibbleProduct, ::testing::Bool());

TEST_P(NibbleProduct, ComputesWithBlocksOf4Bits) {
  const NibbleWeights w = some_nibbles(GetParam());
  for (const std::int64_t rows : {1, 2, 3, 7, 12, 40}) {
    const Floats x = random_floats(rows * kDeep, 1);
    const Floats want = multiply_nibbles(x, w, rows);
    for (const Backend& backend : backends_to_test()) {
      for (const int workers : {1, 2, 3}) {
        TestOp op = nibble_product(x, w, rows);
        const Status accepted = find_entry("sluice", "NarrowMatMul")->check(op.op());
        ASSERT_TRUE(accepted.is_ok()) << accepted.text;
        const Status status = op.run(backend, workers);
        ASSERT_TRUE(status.is_ok()) << status.text;
        const Floats got = op.result();
        ASSERT_EQ(got.size(), want.size());
        for (std::size_t i = 0; i < got.size(); ++i) {
          ASSERT_NEAR(got[i], want[i], 2e-3F) << rows << " rows at " << i;
        }
      }
    }
  }
}

TEST(NarrowMatMul, PacksNothingFor4Bits) {
  const NibbleWeights w = some_nibbles();
  for (const Backend& backend : backends_to_test()) {
    TestOp op = nibble_product(Floats(kDeep), w, 1);
    sluice_packing packing = {};
    ASSERT_TRUE(backend.packing(op.op(), 1, &packing).is_ok());
    EXPECT_EQ(packing.size_bytes, 0);
  }
}

TEST(NarrowMatMul, RefusesBlocksThatAreNoMultipleOf32) {
  const NibbleWeights w = some_nibbles();
  TestOp op("NarrowMatMul", "sluice", 1);
  op.input({1, kDeep}, Floats(kDeep)).input({kN, kDeep}, w.nibbles, true);
  op.input({kN, kDeep / 16}, Floats(kN * kDeep / 16), true);
  op.input({kN, kDeep / 16}, std::vector<std::uint8_t>(kN * kDeep / 16), true);
  op.set_input_type(1, plugin::kU4).set_input_type(3, plugin::kU4).output({1, kN});
  op.attribute("transB", std::int64_t{1}).attribute("block_size", std::int64_t{16});
  EXPECT_FALSE(find_entry("sluice", "NarrowMatMul")->check(op.op()).is_ok());
}

}  // namespace
}  // namespace sluice::cpu
