// Kernels of products on emulated devices, against sums in double.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "plugin/generate/tiles/tile_kernel.h"
#include "plugin/libraries/testing/emulated_device.h"
#include "plugin/libraries/testing/test_op.h"

namespace sluice::cuda {
namespace {

using testing::TestOp;
using Values = std::vector<float>;

struct Sizes {
  std::int64_t m, n, k;
};

/// A product of matrices, or of two stacks of them.
struct Case {
  Sizes sizes;
  sluice_element_type type = plugin::kF32;
  bool turns_a = false, turns_b = false;
  std::vector<std::int64_t> a_batch = {}, b_batch = {}, batch = {};
  bool has_residual = false;
  int capability = 80;
  Confine confine = Confine::kNothing;
};

std::string name_of(const Case& c) {
  return std::to_string(c.sizes.m) + " x " + std::to_string(c.sizes.n) + " x " +
         std::to_string(c.sizes.k) + ", type " + std::to_string(c.type) +
         (c.turns_a ? ", a turned" : "") + (c.turns_b ? ", b turned" : "") + ", sm_" +
         std::to_string(c.capability);
}

/// The number of the operand's matrix that belongs to matrix `index` of a row-major stack.
std::size_t stretched(std::size_t index, const std::vector<std::int64_t>& operand,
                      const std::vector<std::int64_t>& dims) {
  std::size_t found = 0;
  std::size_t step = 1;
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    const auto extent = static_cast<std::size_t>(dims[axis]);
    const std::size_t missing = dims.size() - operand.size();
    if (axis >= missing && operand[axis - missing] != 1) {
      found += index % extent * step;
      step *= extent;
    }
    index /= extent;
  }
  return found;
}

std::vector<double> expected_of(const Case& c, const std::vector<Values>& inputs) {
  const auto [m, n, k] = c.sizes;
  std::size_t batches = 1;
  for (const std::int64_t dim : c.batch) batches *= static_cast<std::size_t>(dim);
  std::vector<double> y;
  for (std::size_t batch = 0; batch < batches; ++batch) {
    const float* left =
        &inputs[0][stretched(batch, c.a_batch, c.batch) * static_cast<std::size_t>(m * k)];
    const float* right =
        &inputs[1][stretched(batch, c.b_batch, c.batch) * static_cast<std::size_t>(n * k)];
    for (std::int64_t row = 0; row < m; ++row) {
      for (std::int64_t column = 0; column < n; ++column) {
        double sum = 0;
        for (std::int64_t i = 0; i < k; ++i) {
          sum += double{left[c.turns_a ? i * m + row : row * k + i]} *
                 right[c.turns_b ? column * k + i : i * n + column];
        }
        y.push_back(c.has_residual ? std::max(sum + inputs[2][y.size()], 0.0) : sum);
      }
    }
  }
  return y;
}

std::vector<std::int64_t> joined(std::vector<std::int64_t> batch, std::int64_t rows,
                                 std::int64_t columns) {
  batch.insert(batch.end(), {rows, columns});
  return batch;
}

void describe(const Case& c, TestOp& op) {
  const auto [m, n, k] = c.sizes;
  op.input(joined(c.a_batch, c.turns_a ? k : m, c.turns_a ? m : k));
  op.input(joined(c.b_batch, c.turns_b ? n : k, c.turns_b ? k : n));
  op.output(joined(c.batch, m, n));
  if (c.turns_a) op.set_int("transA", 1);
  if (c.turns_b) op.set_int("transB", 1);
  if (c.has_residual) {
    op.body_input(joined(c.batch, m, n)).step("Add", {0, 1}).step("Relu", {2});
  }
}

void expect_right(const Case& c, const std::vector<Values>& inputs,
                  const testing::RunResult& result) {
  testing::expect_close(result, expected_of(c, inputs),
                        testing::tolerance_of_sum(c.type, c.sizes.k));
}

const char* kind_of(const Case& c) { return c.turns_a || c.turns_b ? "Gemm" : "MatMul"; }

void check_product(const Case& c) {
  SCOPED_TRACE(name_of(c));
  const testing::EmulatedDevice device(c.capability, c.confine);
  if (!device.has_compiler()) GTEST_SKIP() << "no compiler for CUDA";
  TestOp op(kind_of(c), c.type);
  describe(c, op);
  const std::vector<Values> inputs = testing::some_inputs(op.get());
  expect_right(c, inputs, testing::run_op(*device.backend, *device.group, op.get(), inputs));
}

TEST(Products, LongRowsThatBeginAtOddPlacesAreReadInWholeLoads) {
  for (const sluice_element_type type : testing::kFloatTypes) {
    if (type == plugin::kBf16) continue;
    const std::int64_t most_rows = type == plugin::kF32 ? 8 : 4;
    for (const std::int64_t k : {1, 5, 37}) {
      check_product({.sizes = {1, 22337, k}, .type = type});
      check_product({.sizes = {most_rows, 22338, k}, .type = type});
    }
    check_product({.sizes = {1, 22337, 8}, .type = type, .b_batch = {2}, .batch = {2}});
  }
}

// In some an axis is even, in some odd, in some a multiple of 8; few rows, few columns, both.
constexpr Sizes kSizes[] = {{33, 37, 19}, {40, 24, 48}, {1, 40, 32},  {1, 37, 29},
                            {3, 50, 70},  {16, 40, 24}, {7, 18, 130}, {37, 1, 20}};

TEST(Products, RaggedMatricesOfEveryTypeAndOrderAreExactUpToRounding) {
  for (const sluice_element_type type : testing::kFloatTypes) {
    for (const Sizes& sizes : kSizes) {
      for (const int turns : {0, 1, 2, 3}) {
        // bf16 is as f16 but for one instruction.
        if (type == plugin::kBf16 && (turns % 3 != 0 || sizes.m < 16)) continue;
        check_product(
            {.sizes = sizes, .type = type, .turns_a = (turns & 1) != 0, .turns_b = turns > 1});
      }
    }
  }
}

TEST(Products, DevicesBeforeAsynchronousCopiesComputeTheSame) {
  for (const sluice_element_type type : testing::kFloatTypes) {
    check_product({.sizes = {33, 40, 24}, .type = type, .capability = 75});
    check_product({.sizes = {20, 37, 21}, .type = type, .turns_b = true, .capability = 75});
  }
}

TEST(Products, BodyReadsRunsWhereRowsAreWholeAndElementsWhereNot) {
  for (const sluice_element_type type : testing::kFloatTypes) {
    check_product({.sizes = {33, 40, 24}, .type = type, .has_residual = true});
    check_product({.sizes = {33, 37, 24}, .type = type, .has_residual = true});
    check_product({.sizes = {2, 40, 24}, .type = type, .has_residual = true});
  }
}

TEST(Products, StacksStretch) {
  for (const sluice_element_type type : testing::kFloatTypes) {
    check_product(
        {.sizes = {18, 10, 12}, .type = type, .a_batch = {2, 1}, .b_batch = {3}, .batch = {2, 3}});
    check_product(
        {.sizes = {5, 24, 16}, .type = type, .a_batch = {4}, .b_batch = {1}, .batch = {4}});
    check_product(
        {.sizes = {1, 24, 16}, .type = type, .a_batch = {3}, .b_batch = {3}, .batch = {3}});
  }
}

TEST(Products, MaskedKernelsComputeTheSame) {
  for (const sluice_element_type type : testing::kFloatTypes) {
    check_product({.sizes = {70, 90, 40}, .type = type, .confine = Confine::kMasks});
    check_product({.sizes = {1, 90, 40}, .type = type, .confine = Confine::kMasks});
  }
}

/// A kernel for MatMul with a tile that the sizes of a test would not choose.
void check_tile(const Case& c, const Tile& tile) {
  SCOPED_TRACE(name_of(c) + ", tile " + std::to_string(tile.m) + " x " + std::to_string(tile.n));
  const testing::EmulatedDevice device(c.capability, c.confine);
  if (!device.has_compiler()) GTEST_SKIP() << "no compiler for CUDA";
  TestOp op(kind_of(c), c.type);
  describe(c, op);
  const std::vector<Values> inputs = testing::some_inputs(op.get());
  const int bytes = c.type == plugin::kF32 ? 4 : 2;
  Product product;
  product.m = c.sizes.m, product.n = c.sizes.n, product.k = c.sizes.k;
  product.a = {0, product.m, true, product.k, vector_of(product.k, product.k, bytes), 0, {}};
  product.b = {1, product.n, false, product.n, vector_of(product.n, product.n, bytes), 0, {}};
  product.unbroken = product.n;
  Source source;
  ASSERT_EQ(write_tiles(op.get(), product, {}, tile, &source).text, "");
  expect_right(c, inputs,
               testing::run_source(*device.backend, *device.group, op.get(), source, inputs));
}

TEST(Products, LargeTilesComputeTheSame) {
  const Sizes even = {130, 136, 72};
  const Sizes odd = {129, 131, 37};
  for (const Tile& tile : half_tiles()) {
    check_tile({.sizes = even, .type = plugin::kF16}, tile);
    check_tile({.sizes = odd, .type = plugin::kF16}, tile);
  }
  for (const Tile& tile : float_tiles()) {
    check_tile({.sizes = even}, tile);
    check_tile({.sizes = odd}, tile);
  }
}

TEST(Products, PiecesOfBrokenRowsReadTheirPartOfAResidual) {
  for (const std::int64_t columns : {130, 132, 136}) {  // pieces of 2, 4 and 8
    const Sizes sizes = {68, columns, 24};
    for (const Tile& tile : half_tiles()) {
      check_tile({.sizes = sizes, .type = plugin::kF16, .has_residual = true}, tile);
    }
    for (const Tile& tile : float_tiles()) {
      check_tile({.sizes = sizes, .has_residual = true}, tile);
    }
  }
}

}  // namespace
}  // namespace sluice::cuda
