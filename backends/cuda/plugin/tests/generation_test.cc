// Kernels of language models on emulated devices, against sums in double: rows of 8 bits, attention
// over pages of them, products with routed matrices.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "plugin/libraries/testing/emulated_device.h"
#include "plugin/libraries/testing/test_op.h"

namespace sluice::cuda {
namespace {

using testing::TestOp;
using Values = std::vector<float>;

std::size_t place(std::int64_t i) { return static_cast<std::size_t>(i); }

/// sluice::RoundRows of rows of `size`, a float for each byte.
Values rounded(const Values& x, std::int64_t size) {
  Values bytes;
  for (std::size_t row = 0; row < x.size(); row += place(size)) {
    float most = 0;
    bool is_finite = true;
    for (std::size_t i = row; i < row + place(size); ++i) {
      is_finite = is_finite && std::isfinite(x[i]);
      most = std::max(most, std::fabs(x[i]));
    }
    float scale = most / 127;
    if (scale < std::numeric_limits<float>::min()) scale = 0;
    if (!is_finite) scale = std::numeric_limits<float>::quiet_NaN();
    for (std::size_t i = row; i < row + place(size); ++i) {
      bytes.push_back(scale > 0 ? std::nearbyint(x[i] / scale) : 0);
    }
    for (int byte = 0; byte < 4; ++byte) {
      const std::uint32_t bits = std::bit_cast<std::uint32_t>(scale) >> 8 * byte;
      bytes.push_back(static_cast<signed char>(bits & 255U));
    }
  }
  return bytes;
}

/// The numbers of rounded rows.
Values widened(const Values& bytes, std::int64_t size) {
  Values numbers;
  for (std::size_t row = 0; row < bytes.size(); row += place(size + 4)) {
    std::uint32_t bits = 0;
    for (std::size_t byte = 0; byte < 4; ++byte) {
      const auto one = static_cast<std::uint8_t>(static_cast<int>(bytes[row + place(size) + byte]));
      bits |= std::uint32_t{one} << 8 * byte;
    }
    for (std::size_t i = row; i < row + place(size); ++i) {
      numbers.push_back(bytes[i] * std::bit_cast<float>(bits));
    }
  }
  return numbers;
}

TEST(GenerationKernels, RowsOf8BitsAreTheFormulasInEveryByte) {
  const testing::EmulatedDevice device(80);
  if (!device.has_compiler()) GTEST_SKIP() << "no compiler for CUDA";
  for (const std::int64_t size : {1, 7, 64, 100}) {
    TestOp op("RoundRows", plugin::kF32);
    op.domain("sluice").input({3, 3, size}).output({3, 3, size + 4}, plugin::kI8);
    std::vector<Values> inputs = testing::some_inputs(op.get());
    const float inf = std::numeric_limits<float>::infinity();
    const Values firsts = {0.5F, -inf, std::nanf(""), 1e30F, 1e-30F, 0};
    for (std::size_t i = 0; i < firsts.size(); ++i) inputs[0][(i + 2) * place(size)] = firsts[i];
    for (std::int64_t i = 0; i < size; ++i) inputs[0][place(i)] = i % 2 == 0 ? 1e-42F : 0;
    const auto result = testing::run_op(*device.backend, *device.group, op.get(), inputs);
    ASSERT_EQ(result.status.text, "");
    EXPECT_EQ(result.output, rounded(inputs[0], size)) << size;
  }
}

/// One token each of sequences with pages of 32 places.
struct Pages {
  std::int64_t heads = 4, kv_heads = 2, size = 8, value_size = 8;
  std::vector<std::int64_t> positions = {0, 31, 70};

  std::int64_t blocks() const { return 3; }
  std::int64_t pages() const { return std::ssize(positions) * blocks(); }
  /// Sequences have their pages in turn, from the last one backwards.
  std::int64_t page(std::int64_t sequence, std::int64_t block) const {
    return pages() - 1 - block * std::ssize(positions) - sequence;
  }
};

Values attended(const Pages& p, const Values& q, const Values& keys, const Values& values) {
  Values y;
  for (std::int64_t row = 0; row < std::ssize(p.positions); ++row) {
    for (std::int64_t head = 0; head < p.heads; ++head) {
      std::vector<double> sums(place(p.value_size));
      double total = 0;
      for (std::int64_t at = 0; at <= p.positions[place(row)]; ++at) {
        const std::int64_t line =
            (p.page(row, at / 32) * p.kv_heads + head / (p.heads / p.kv_heads)) * 32 + at % 32;
        double score = 0;
        for (std::int64_t d = 0; d < p.size; ++d) {
          score += double{q[place((row * p.heads + head) * p.size + d)]} *
                   keys[place(line * p.size + d)];
        }
        const double weight = std::exp(score / std::sqrt(static_cast<double>(p.size)));
        total += weight;
        for (std::int64_t d = 0; d < p.value_size; ++d) {
          sums[place(d)] += weight * values[place(line * p.value_size + d)];
        }
      }
      for (const double sum : sums) y.push_back(static_cast<float>(sum / total));
    }
  }
  return y;
}

void expect_attended(const testing::EmulatedDevice& device, const Pages& p) {
  const std::int64_t rows = std::ssize(p.positions);
  TestOp op("PagedAttention", plugin::kF32);
  op.domain("sluice").input({rows, p.heads * p.size});
  op.input({p.pages(), p.kv_heads, 32, p.size + 4}, plugin::kI8);
  op.input({p.pages(), p.kv_heads, 32, p.value_size + 4}, plugin::kI8);
  op.input({rows}, plugin::kI64).input({rows}, plugin::kI64);
  op.input({rows, p.blocks()}, plugin::kI64).output({rows, p.heads * p.value_size});
  TestOp pools("Identity", plugin::kF32);
  pools.input({p.pages(), p.kv_heads, 32, p.size}).input({p.pages(), p.kv_heads, 32, p.value_size});
  std::vector<Values> inputs = {testing::some_numbers(op.get().inputs[0].tensor, 1)};
  const std::vector<Values> floats = testing::some_inputs(pools.get());
  inputs.push_back(rounded(floats[0], p.size));
  inputs.push_back(rounded(floats[1], p.value_size));
  inputs.emplace_back(p.positions.begin(), p.positions.end());
  inputs.emplace_back();
  inputs.emplace_back();
  for (std::int64_t row = 0; row < rows; ++row) {
    inputs[4].push_back(static_cast<float>(row));
    for (std::int64_t block = 0; block < p.blocks(); ++block) {
      inputs[5].push_back(static_cast<float>(p.page(row, block)));
    }
  }
  const Values wanted =
      attended(p, inputs[0], widened(inputs[1], p.size), widened(inputs[2], p.value_size));
  const auto result = testing::run_op(*device.backend, *device.group, op.get(), inputs);
  testing::expect_close(result, {wanted.begin(), wanted.end()}, 1e-5);
}

TEST(GenerationKernels, PagesOf8BitsAreAttendedTo) {
  const testing::EmulatedDevice device(80);
  if (!device.has_compiler()) GTEST_SKIP() << "no compiler for CUDA";
  expect_attended(device, {});
  expect_attended(device, {.heads = 3, .kv_heads = 3, .size = 7, .value_size = 40});
  expect_attended(device, {.heads = 8, .kv_heads = 1, .size = 64, .value_size = 64});
}

struct Routed {
  sluice_element_type type = plugin::kF32;
  std::int64_t block = 0;  ///< 0: no scales
  bool has_zeros = false;
  bool has_own_rows = false;
  std::int64_t tokens = 3, each = 2, matrices = 4, n = 37, k = 64;
  std::int64_t none = 0;  ///< each so many-th route is -1; 0: none is

  std::int64_t pairs() const { return tokens * each; }
  std::int64_t blocks() const { return block > 0 ? k / block : 0; }
};

void describe(const Routed& c, TestOp& op) {
  const std::vector<std::int64_t> scales = {c.matrices, c.n, c.blocks()};
  op.domain("sluice").set_int("block_size", c.block);
  c.has_own_rows ? op.input({c.tokens, c.each, c.k}) : op.input({c.tokens, c.k});
  op.input({c.matrices, c.n, c.k}, c.type);
  c.block > 0 ? op.input(scales) : op.absent_input();
  c.has_zeros ? op.input(scales, c.type) : op.absent_input();
  op.input({c.tokens, c.each}, plugin::kI64).output({c.tokens, c.each, c.n});
}

std::vector<Values> numbers_of(const Routed& c, const sluice_op& op) {
  std::vector<Values> inputs(5);
  inputs[0] = testing::some_numbers(op.inputs[0].tensor, 1);
  if (c.block == 0) inputs[1] = testing::some_numbers(op.inputs[1].tensor, 2);
  for (std::int64_t i = 0; c.block > 0 && i < c.matrices * c.n * c.k; ++i) {
    inputs[1].push_back(static_cast<float>((i * i + i / 7) % 8));  // as every type holds them
  }
  if (c.block > 0) inputs[2] = testing::some_numbers(op.inputs[2].tensor, 3);
  for (std::int64_t i = 0; c.has_zeros && i < c.matrices * c.n * c.blocks(); ++i) {
    inputs[3].push_back(static_cast<float>(i * 5 % 8));
  }
  for (std::int64_t i = 0; i < c.pairs(); ++i) {
    const bool has_none = c.none > 0 && i % c.none == 0;
    inputs[4].push_back(has_none ? -1.0F : static_cast<float>(i * 3 % c.matrices));
  }
  return inputs;
}

std::vector<double> routed(const Routed& c, const std::vector<Values>& inputs) {
  std::vector<double> y;
  for (std::int64_t pair = 0; pair < c.pairs(); ++pair) {
    const std::int64_t row = c.has_own_rows ? pair : pair / c.each;
    for (std::int64_t j = 0; j < c.n; ++j) {
      const auto route = static_cast<std::int64_t>(inputs[4][place(pair)]);
      const std::int64_t line = route * c.n + j;
      double sum = 0;
      for (std::int64_t i = 0; i < c.k && route >= 0; ++i) {
        double w = double{inputs[1][place(line * c.k + i)]};
        if (c.block > 0) {
          const std::size_t at = place(line * c.blocks() + i / c.block);
          w = (w - (c.has_zeros ? inputs[3][at] : 0)) * inputs[2][at];
        }
        sum += inputs[0][place(row * c.k + i)] * w;
      }
      y.push_back(sum);
    }
  }
  return y;
}

TEST(GenerationKernels, RowsAreMultipliedWithTheMatricesTheyAreRoutedTo) {
  const testing::EmulatedDevice device(80);
  if (!device.has_compiler()) GTEST_SKIP() << "no compiler for CUDA";
  for (const Routed& c :
       {Routed{}, Routed{.has_own_rows = true}, Routed{.none = 1},
        Routed{.has_own_rows = true, .n = 70, .none = 2}, Routed{.type = plugin::kF16},
        Routed{.type = plugin::kBf16, .n = 5, .k = 31}, Routed{.type = plugin::kI8, .block = 32},
        Routed{.type = plugin::kU8, .block = 16, .has_zeros = true},
        Routed{.type = plugin::kI4, .block = 32, .has_own_rows = true},
        Routed{.type = plugin::kU4, .block = 32, .has_zeros = true}}) {
    TestOp op("RoutedMatMul", plugin::kF32);
    describe(c, op);
    const std::vector<Values> inputs = numbers_of(c, op.get());
    SCOPED_TRACE("type " + std::to_string(c.type) + ", block " + std::to_string(c.block));
    const auto result = testing::run_op(*device.backend, *device.group, op.get(), inputs);
    testing::expect_close(result, routed(c, inputs), 1e-3);
  }
}

TEST(GenerationKernels, RouteOutsideOfTheMatricesIsAnError) {
  const testing::EmulatedDevice device(80);
  if (!device.has_compiler()) GTEST_SKIP() << "no compiler for CUDA";
  TestOp op("RoutedMatMul", plugin::kF32);
  const Routed c;
  describe(c, op);
  for (const float route : {-2.0F, 4.0F}) {
    std::vector<Values> inputs = numbers_of(c, op.get());
    inputs[4][3] = route;
    const auto result = testing::run_op(*device.backend, *device.group, op.get(), inputs);
    EXPECT_EQ(result.status.code, SLUICE_OUT_OF_RANGE) << result.status.text;
  }
}

}  // namespace
}  // namespace sluice::cuda
