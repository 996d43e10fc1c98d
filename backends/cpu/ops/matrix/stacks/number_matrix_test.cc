#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <tuple>
#include <vector>

#include "testing/agreement.h"
#include "testing/test_support.h"

namespace sluice::cpu {
namespace {

using Doubles = std::vector<double>;

/// Small whole numbers, whose sums are exact in any order.
Doubles whole_numbers(std::int64_t count, std::int64_t seed) {
  Doubles numbers;
  for (std::int64_t i = 0; i < count; ++i) {
    numbers.push_back(static_cast<double>((i + seed) * 37 % 41 - 20));
  }
  return numbers;
}

std::int64_t elements(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) count *= dim;
  return count;
}

void expect_product(const Shape& a, const Shape& b, const Shape& y) {
  expect_agreement(
      [&](TestOp& op) {
        op.input(a, whole_numbers(elements(a), 1)).input(b, whole_numbers(elements(b), 2));
        op.output<double>(y);
      },
      {.kind = "MatMul", .version = 13, .float_outputs = {}});
}

TEST(CpuDoubleMatMul, AgreesForStacksAndVectors) {
  expect_product({7, 5}, {5, 3}, {7, 3});
  expect_product({100, 401}, {401, 37}, {100, 37});
  expect_product({1, 16}, {16, 16}, {1, 16});
  expect_product({4, 6, 5}, {5, 9}, {4, 6, 9});
  expect_product({3, 1, 6, 5}, {2, 5, 9}, {3, 2, 6, 9});
  expect_product({5}, {5, 9}, {9});
  expect_product({2, 6, 5}, {5}, {2, 6});
  expect_product({5}, {5}, {});
}

TEST(CpuDoubleMatMul, AgreesForEveryRestOfAPanel) {
  for (std::int64_t n = 1; n <= 18; ++n) expect_product({9, 7}, {7, n}, {9, n});
}

TEST(CpuDoubleMatMul, SpreadsNanInItsRow) {
  expect_agreement(
      [](TestOp& op) {
        Doubles a = whole_numbers(21, 1);
        a[8] = std::numeric_limits<double>::infinity();
        op.input({7, 3}, a).input({3, 2}, Doubles{1, 2, 3, 4, 5, 6}).output<double>({7, 2});
      },
      {.kind = "MatMul", .version = 13, .float_outputs = {}});
}

TEST(CpuDoubleGemm, AgreesTransposedScaledAndWithEveryC) {
  for (const std::int64_t trans_a : {0, 1}) {
    for (const std::int64_t trans_b : {0, 1}) {
      for (const Shape& c : {Shape{}, Shape{19}, Shape{13, 1}, Shape{13, 19}, Shape{1, 19}}) {
        expect_agreement(
            [&](TestOp& op) {
              op.input(trans_a != 0 ? Shape{21, 13} : Shape{13, 21}, whole_numbers(273, 1));
              op.input(trans_b != 0 ? Shape{19, 21} : Shape{21, 19}, whole_numbers(399, 2));
              op.input(c, whole_numbers(elements(c), 3)).output<double>({13, 19});
              op.attribute("transA", trans_a).attribute("transB", trans_b);
              op.attribute("alpha", 0.5F).attribute("beta", -2.0F);
            },
            {.kind = "Gemm", .version = 13, .float_outputs = {}});
      }
    }
  }
}

/// Numbers over the whole range, whose products and sums wrap.
template <typename T>
std::vector<T> any_numbers(std::int64_t count, unsigned seed) {
  std::mt19937_64 generator(seed);
  std::vector<T> numbers(static_cast<std::size_t>(count));
  for (T& number : numbers) number = static_cast<T>(generator());
  return numbers;
}

template <typename T>
void expect_integer_product(sluice_element_type type, const Shape& a, const Shape& b,
                            const Shape& y) {
  expect_agreement(
      [&](TestOp& op) {
        op.input(a, any_numbers<T>(elements(a), 1)).input(b, any_numbers<T>(elements(b), 2));
        op.output<T>(y);
        op.set_input_type(0, type).set_input_type(1, type).set_output_type(0, type);
      },
      {.kind = "MatMul", .version = 13, .float_outputs = {}});
}

TEST(CpuIntegerMatMul, WrapsInEveryTypeAndShape) {
  const std::tuple<Shape, Shape, Shape> shapes[] = {
      {{1, 1}, {1, 1}, {1, 1}},
      {{7, 5}, {5, 3}, {7, 3}},
      {{100, 401}, {401, 67}, {100, 67}},
      {{200, 32}, {32, 32}, {200, 32}},
      {{3, 1, 6, 5}, {2, 5, 9}, {3, 2, 6, 9}},
      {{5}, {5, 33}, {33}},
      {{2, 6, 5}, {5}, {2, 6}},
      {{5}, {5}, {}},
  };
  for (const auto& [a, b, y] : shapes) {
    expect_integer_product<std::int32_t>(plugin::kI32, a, b, y);
    expect_integer_product<std::int32_t>(plugin::kU32, a, b, y);
    expect_integer_product<std::int64_t>(plugin::kI64, a, b, y);
    expect_integer_product<std::int64_t>(plugin::kU64, a, b, y);
  }
}

TEST(CpuIntegerMatMul, WrapsInEveryRestOfAPanel) {
  for (std::int64_t n = 1; n <= 34; ++n) {
    expect_integer_product<std::int32_t>(plugin::kI32, {9, 7}, {7, n}, {9, n});
    expect_integer_product<std::int64_t>(plugin::kI64, {9, 7}, {7, n}, {9, n});
  }
}

TEST(CpuMatrixVector, AgreesForEveryDepthAndStack) {
  for (const std::int64_t k : {1, 5, 16, 37, 130}) {
    for (const std::int64_t m : {1, 3, 8, 71}) {
      expect_agreement(
          [&](TestOp& op) {
            std::vector<float> a = random_floats(3 * m * k, 1);
            a[static_cast<std::size_t>(m * k / 2)] = NAN;
            op.input({3, 1, m, k}, a).input({2, k, 1}, random_floats(2 * k, 2));
            op.output({3, 2, m, 1});
          },
          {.kind = "MatMul", .version = 13, .tolerance = 2e-5F});
    }
  }
}

TEST(CpuDet, AgreesForEverySize) {
  for (const std::int64_t n : {1, 2, 3, 8, 21}) {
    expect_agreement(
        [&](TestOp& op) {
          std::vector<float> x = random_floats(5 * n * n, 3);
          std::fill_n(x.begin(), n, 0.0F);  // the first matrix is singular
          x[static_cast<std::size_t>(n * n)] = NAN;
          op.input({5, n, n}, x).output({5});
        },
        {.kind = "Det", .version = 11});
  }
  expect_agreement(
      [](TestOp& op) {
        op.input({3, 3}, Doubles{2, 0, 1, 4, 8, 2, 1, 1, 4}).output<double>({});
      },
      {.kind = "Det", .version = 11, .float_outputs = {}});
}

}  // namespace
}  // namespace sluice::cpu
