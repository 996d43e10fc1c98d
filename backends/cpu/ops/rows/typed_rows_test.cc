// Reductions and running sums of every element type agree with the reference kernels.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "testing/agreement.h"
#include "testing/test_support.h"

namespace sluice::cpu {
namespace {

/// The type's extremes first, then small numbers.
template <typename T>
std::vector<T> numbers(std::int64_t count) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<T>(i * 7 % 23 + 1));
  if (count > 3) values[1] = std::numeric_limits<T>::lowest();
  if (count > 3) values[3] = std::numeric_limits<T>::max();
  return values;
}

/// Floats whose products and sums stay near 1, exact in double.
template <typename T>
std::vector<T> halves(std::int64_t count) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(i % 3 == 0 ? T{-2} : i % 3 == 1 ? static_cast<T>(0.5) : T{1});
  }
  return values;
}

template <typename T>
std::vector<T> values_of(std::int64_t count) {
  if constexpr (std::is_floating_point_v<T>) return halves<T>(count);
  if constexpr (!std::is_floating_point_v<T>) return numbers<T>(count);
}

constexpr const char* kWhole[] = {"ReduceSum", "ReduceMax",       "ReduceMin",
                                  "ReduceL1",  "ReduceSumSquare", "ReduceProd"};
constexpr const char* kOfFloats[] = {"ReduceMean", "ReduceL2"};

template <typename T>
void reduce(const char* kind, const Shape& dims, std::int64_t axis, const std::vector<T>& x) {
  Shape out = dims;
  out[static_cast<std::size_t>(axis)] = 1;
  expect_agreement(
      [&](TestOp& op) {
        op.input<T>(dims, x).template input<std::int64_t>({1}, {axis}, true);
        op.template output<T>(out);
      },
      {.kind = kind, .float_outputs = {}});
}

template <typename T>
void reduce_all(const char* kind) {
  for (const std::int64_t n : {1, 2, 7, 12, 13, 31, 64, 65, 130, 257, 1000}) {
    reduce<T>(kind, {3, n}, 1, values_of<T>(3 * n));
    reduce<T>(kind, {2, 5, n}, 1, values_of<T>(10 * n));
    reduce<T>(kind, {n, 3}, 0, values_of<T>(3 * n));
  }
}

template <typename... T>
void reduce_types(const char* kind) {
  (reduce_all<T>(kind), ...);
}

TEST(TypedReduce, AgreesForEveryTypeAndAxis) {
  for (const char* kind : kWhole) {
    reduce_types<std::uint8_t, std::int8_t, std::uint16_t, std::int32_t, std::int64_t, double>(
        kind);
  }
  for (const char* kind : kOfFloats) reduce_all<double>(kind);
  reduce_all<float>("ReduceProd");
}

/// Rows end within vectors, beside them and behind them; so do columns.
TEST(TypedReduce, AgreesForEveryLength) {
  for (std::int64_t n = 1; n < 140; ++n) {
    for (const char* kind : {"ReduceMax", "ReduceMin", "ReduceMean", "ReduceSum", "ReduceL1"}) {
      reduce<double>(kind, {3, n}, 1, values_of<double>(3 * n));
    }
    for (const char* kind : {"ReduceMax", "ReduceSum", "ReduceSumSquare", "ReduceL1"}) {
      reduce<std::int8_t>(kind, {2, n}, 1, values_of<std::int8_t>(2 * n));
      reduce<std::int64_t>(kind, {2, n}, 1, values_of<std::int64_t>(2 * n));
    }
    reduce<float>("ReduceProd", {2, n}, 1, values_of<float>(2 * n));
  }
  for (const char* kind : {"ReduceMax", "ReduceMin"}) {
    reduce<double>(kind, {5, 96}, 0, values_of<double>(5 * 96));
    for (const std::int64_t n : {3, 20, 100}) {
      std::vector<double> x(static_cast<std::size_t>(n), -0.0);
      x[static_cast<std::size_t>(n / 2)] = std::numeric_limits<double>::infinity();
      x[static_cast<std::size_t>(n - 1)] = -std::numeric_limits<double>::infinity();
      reduce<double>(kind, {1, n}, 1, x);
    }
  }
}

TEST(TypedReduce, FoldsSeveralRunsOfAxes) {
  expect_agreement(
      [](TestOp& op) {
        op.input<std::int64_t>({4, 5, 6, 7}, numbers<std::int64_t>(840))
            .input<std::int64_t>({2}, {0, 2}, true)
            .output<std::int64_t>({1, 5, 1, 7});
      },
      {.kind = "ReduceSum", .float_outputs = {}});
}

TEST(TypedReduce, LetsNanWinAndProductsPassBeyondFloats) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const char* kind : {"ReduceMax", "ReduceMin", "ReduceSum", "ReduceProd"}) {
    for (const std::int64_t n : {5, 12, 13, 150}) {
      for (std::int64_t at = 0; at < n; at += n < 20 ? 1 : 7) {
        std::vector<double> x(static_cast<std::size_t>(n), 3);
        x[static_cast<std::size_t>(at)] = nan;
        for (const Backend& backend : backends_to_test()) {
          TestOp op(kind);
          op.input<double>({1, n}, x).input<std::int64_t>({1}, {1}, true).output<double>({1, 1});
          ASSERT_TRUE(op.run(backend, 1).is_ok());
          EXPECT_TRUE(std::isnan(op.result<double>()[0])) << kind << " of " << n << " at " << at;
        }
      }
    }
  }
  reduce<float>("ReduceProd", {1, 4}, 1, {1e30F, 1e30F, 1e-30F, 1e-29F});
}

template <typename T>
void sum_up(const Shape& dims, std::int64_t axis, std::int64_t flags) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  expect_agreement(
      [&](TestOp& op) {
        op.input<T>(dims, values_of<T>(count)).template input<std::int64_t>({}, {axis}, true);
        op.template output<T>(dims);
        op.attribute("exclusive", flags & 1).attribute("reverse", flags >> 1);
      },
      {.kind = "CumSum", .version = 14, .float_outputs = {}});
}

TEST(Cumulative, AgreesForEveryTypeAndAxis) {
  for (const std::int64_t flags : {0, 1, 2, 3}) {
    for (const std::int64_t n : {1, 2, 8, 9, 17, 128, 129, 300}) {
      for (const auto& [dims, axis] : {std::pair{Shape{n, 5}, 1}, std::pair{Shape{3, 4, n}, 1},
                                       std::pair{Shape{n, 3}, 0}, std::pair{Shape{n}, 0}}) {
        sum_up<float>(dims, axis, flags);
        sum_up<double>(dims, axis, flags);
        sum_up<std::int32_t>(dims, axis, flags);
        sum_up<std::int64_t>(dims, axis, flags);
      }
    }
  }
}

TEST(Cumulative, AgreesOnStripsOfManyRowsAndOnWhatIsNoNumber) {
  constexpr std::int64_t kColumns = 300;
  std::vector<float> x = halves<float>(2 * 20 * kColumns);
  const auto column = [&](std::int64_t c, std::int64_t k) -> float& {
    return x[static_cast<std::size_t>(k * kColumns + c)];
  };
  column(3, 4) = NAN;
  column(5, 2) = INFINITY;
  column(7, 2) = INFINITY;
  column(7, 9) = -INFINITY;
  for (const std::int64_t k : {0, 1, 2}) column(9, k) = 3e38F;  // beyond floats, and back
  for (const std::int64_t k : {3, 4}) column(9, k) = -3e38F;
  column(127, 0) = 1.2e-38F;
  column(128, 19) = NAN;
  column(299, 0) = -INFINITY;
  for (const std::int64_t flags : {0, 1, 2, 3}) {
    expect_agreement(
        [&](TestOp& op) {
          op.input<float>({2, 20, kColumns}, x).input<std::int64_t>({}, {1}, true);
          op.output<float>({2, 20, kColumns});
          op.attribute("exclusive", flags & 1).attribute("reverse", flags >> 1);
        },
        {.kind = "CumSum", .version = 14, .tolerance = 0});
    sum_up<float>({2, 20, kColumns}, 1, flags);
    sum_up<double>({2, 20, kColumns}, 1, flags);
    sum_up<std::int32_t>({2, 20, kColumns}, 1, flags);
    sum_up<std::int64_t>({2, 20, kColumns}, 1, flags);
  }
}

TEST(Cumulative, AgreesOnFewRowsOfWhatIsNoNumber) {
  for (const std::int64_t rows : {1, 2, 3, 4, 5, 7}) {
    constexpr std::int64_t kColumns = 37;
    std::vector<float> x = halves<float>(rows * kColumns);
    x[5] = NAN;
    x[9] = INFINITY;
    if (rows == 3 || rows == 4) {
      for (const std::size_t k : {0U, 1U}) x[k * kColumns + 36] = 3e38F;  // beyond floats, and back
      x[2 * kColumns + 36] = -3e38F;
    }
    for (const std::int64_t flags : {0, 1, 2, 3}) {
      expect_agreement(
          [&](TestOp& op) {
            op.input<float>({rows, kColumns}, x).input<std::int64_t>({}, {0}, true);
            op.output<float>({rows, kColumns});
            op.attribute("exclusive", flags & 1).attribute("reverse", flags >> 1);
          },
          {.kind = "CumSum", .version = 14, .tolerance = 0});
    }
  }
}

/// Floats are summed a few rows at a time, in vectors of columns.
TEST(Cumulative, AgreesOnFloatsOfEveryWidthAndNumberOfRows) {
  const auto expect_sums = [](const Shape& dims) {
    const std::vector<float> x = random_floats(dims[0] * dims[1] * dims[2], 4);
    for (const std::int64_t flags : {0, 1, 2, 3}) {
      expect_agreement(
          [&](TestOp& op) {
            op.input(dims, x).input<std::int64_t>({}, {1}, true).output(dims);
            op.attribute("exclusive", flags & 1).attribute("reverse", flags >> 1);
          },
          {.kind = "CumSum", .version = 14});
    }
  };
  for (std::int64_t columns = 2; columns < 40; ++columns) expect_sums({2, 19, columns});
  for (std::int64_t rows = 1; rows < 20; ++rows) expect_sums({1, rows, 21});
  expect_sums({1, 9, 1024});
  expect_sums({9, 8, 1025});
  expect_sums({13, 17, 2100});
}

template <typename T>
void select_top(const Shape& dims, std::int64_t axis, std::int64_t k, std::int64_t largest) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  Shape out = dims;
  out[static_cast<std::size_t>(axis)] = k;
  expect_agreement(
      [&](TestOp& op) {
        op.input<T>(dims, values_of<T>(count)).template input<std::int64_t>({1}, {k}, true);
        op.template output<T>(out).template output<std::int64_t>(out);
        op.attribute("axis", axis).attribute("largest", largest);
      },
      {.kind = "TopK", .version = 11, .float_outputs = {}});
}

TEST(TopKOfTypes, AgreesForFewAndMany) {
  for (const std::int64_t largest : {0, 1}) {
    for (const std::int64_t k : {1, 7, 70}) {
      select_top<std::int64_t>({3, 200}, 1, k, largest);
      select_top<std::int32_t>({3, 200}, 1, k, largest);
      select_top<double>({3, 200}, 1, k, largest);
      select_top<std::int8_t>({3, 200}, 1, k, largest);
      select_top<std::uint8_t>({100, 16}, 0, k, largest);
      for (const Shape& dims : {Shape{100, 3}, Shape{100, 16}, Shape{100, 37}}) {
        select_top<std::int64_t>(dims, 0, k, largest);
        select_top<std::int32_t>(dims, 0, k, largest);
        select_top<double>(dims, 0, k, largest);
        select_top<float>(dims, 0, k, largest);
      }
    }
  }
}

template <typename T>
void find_extremes(const Shape& dims, std::int64_t axis, const std::vector<T>& x) {
  Shape out = dims;
  out[static_cast<std::size_t>(axis)] = 1;
  for (const char* kind : {"ArgMax", "ArgMin"}) {
    for (const std::int64_t takes_last : {0, 1}) {
      expect_agreement(
          [&](TestOp& op) {
            op.input<T>(dims, x).template output<std::int64_t>(out);
            op.attribute("axis", axis).attribute("select_last_index", takes_last);
          },
          {.kind = kind, .version = 13, .float_outputs = {}});
    }
  }
}

template <typename T>
void find_extremes_of_each_axis() {
  for (const std::int64_t n : {1, 2, 7, 23, 32, 33, 65, 128, 300}) {
    find_extremes<T>({3, n}, 1, values_of<T>(3 * n));
    find_extremes<T>({37, n}, 1, values_of<T>(37 * n));
    find_extremes<T>({n, 3}, 0, values_of<T>(3 * n));
    find_extremes<T>({2, 4, n}, 1, values_of<T>(8 * n));
  }
}

TEST(ArgOfTypes, FindsFirstAndLastExtremesAlongEveryAxis) {
  find_extremes_of_each_axis<std::int64_t>();
  find_extremes_of_each_axis<std::int32_t>();
  find_extremes_of_each_axis<std::int8_t>();
  find_extremes_of_each_axis<std::uint8_t>();
  find_extremes_of_each_axis<double>();
  find_extremes_of_each_axis<float>();
}

template <typename T>
void find_nans() {
  std::vector<T> x = halves<T>(60);
  for (const std::size_t at : {7U, 11U, 32U, 59U}) x[at] = std::numeric_limits<T>::quiet_NaN();
  x[20] = std::numeric_limits<T>::infinity();
  x[21] = -std::numeric_limits<T>::infinity();
  x[40] = T{0};
  x[41] = -T{0};
  for (const std::int64_t axis : {0, 1, 2}) find_extremes<T>({3, 4, 5}, axis, x);
  find_extremes<T>({20, 3}, 1, x);
  for (const std::size_t at : {0U, 1U, 63U, 64U, 129U}) {
    std::vector<T> row = halves<T>(130);
    row[at] = std::numeric_limits<T>::quiet_NaN();
    find_extremes<T>({1, 130}, 1, row);
  }
}

TEST(ArgOfTypes, TakesNanForTheExtreme) {
  find_nans<double>();
  find_nans<float>();
}

TEST(Hardmax, MarksTheFirstExtremeAlongEveryAxis) {
  for (const auto version : {11, 13}) {
    for (const std::int64_t axis : {0, 1, 2, -1}) {
      expect_agreement(
          [&](TestOp& op) {
            std::vector<float> x = halves<float>(5 * 6 * 37);
            x[40] = NAN;
            x[700] = INFINITY;
            op.input({5, 6, 37}, x).output({5, 6, 37}).attribute("axis", axis);
          },
          {.kind = "Hardmax", .version = version, .tolerance = 0});
    }
  }
  const std::vector<float> wide = halves<float>(2 * 9 * 600);  // more columns than a strip has
  expect_agreement(
      [&](TestOp& op) {
        op.input({2, 9, 600}, wide).output({2, 9, 600}).attribute("axis", std::int64_t{1});
      },
      {.kind = "Hardmax", .version = 13, .tolerance = 0});
}

TEST(HalfCast, AgreesForEveryLength) {
  for (const sluice_element_type half : {plugin::kF16, plugin::kBf16}) {
    for (std::int64_t n = 1; n < 70; ++n) {
      std::vector<float> x = {1.00048828F, -65520, 1e-7F, -0.0F, INFINITY, 3e38F};
      for (std::int64_t i = 6; i < n; ++i) x.push_back(static_cast<float>(i) * 0.37F);
      x.resize(static_cast<std::size_t>(n));
      expect_agreement(
          [&](TestOp& op) {
            op.input({n}, x).output<std::uint16_t>({n}).set_output_type(0, half);
            op.attribute("to", std::int64_t{half});
          },
          {.kind = "Cast", .float_outputs = {}});
      std::vector<std::uint16_t> bits;  // normal: denormal numbers may count as zero
      for (std::int64_t i = 0; i < n; ++i)
        bits.push_back(static_cast<std::uint16_t>(i * 977 | 0x400));
      expect_agreement(
          [&](TestOp& op) {
            op.input<std::uint16_t>({n}, bits).set_input_type(0, half).output({n});
            op.attribute("to", std::int64_t{plugin::kF32});
          },
          {.kind = "Cast", .tolerance = 0});
    }
  }
}

TEST(CpuTopK, TakesManyOfLongLinesInOrder) {
  for (const std::int64_t largest : {0, 1}) {
    for (const std::int64_t k : {0, 65, 1000, 5000}) {
      for (const std::int64_t axis : {1, 2}) {
        const Shape x = axis == 2 ? Shape{1, 2, 5000} : Shape{1, 5000, 2};
        Shape y = x;
        y[static_cast<std::size_t>(axis)] = k;
        std::vector<float> values;
        for (int i = 0; i < 10000; ++i) {
          const std::uint32_t mixed = static_cast<std::uint32_t>(i) * 2654435761U;
          values.push_back(static_cast<float>(mixed >> 20) - 2000);  // many are equal
        }
        values[17] = values[5000] = NAN;
        values[40] = -0.0F;
        values[50] = 0.0F;
        values[60] = std::numeric_limits<float>::infinity();
        values[61] = -std::numeric_limits<float>::infinity();
        expect_agreement(
            [&](TestOp& op) {
              op.input(x, values).input<std::int64_t>({1}, {k}, true);
              op.output(y).output<std::int64_t>(y).attribute("axis", axis);
              op.attribute("largest", largest);
            },
            {.kind = "TopK", .version = 11, .float_outputs = {}});
      }
    }
  }
}

TEST(CpuSoftmax, DoublesMatchTheReference) {
  for (const char* kind : {"Softmax", "LogSoftmax"}) {
    for (const int version : {11, 13}) {
      for (const std::int64_t axis : {0, 1, -1}) {
        std::vector<double> x;
        for (int i = 0; i < 3 * 5 * 7; ++i) x.push_back(static_cast<double>(i * 37 % 101) / 7 - 9);
        x[11] = std::numeric_limits<double>::infinity();
        x[90] = -std::numeric_limits<double>::infinity();
        expect_agreement(
            [&](TestOp& op) {
              op.input<double>({3, 5, 7}, x).output<double>({3, 5, 7}).attribute("axis", axis);
            },
            {.kind = kind,
             .version = version,
             .tolerance = 1e-14F,
             .float_outputs = {},
             .double_outputs = {0}});
      }
    }
  }
}

struct Scaling {
  Shape scales;
  std::int64_t axis = 1;
  std::int64_t block = 0;
};

template <typename T>
void expect_dequantized(const Scaling& s, bool has_zeros) {
  std::int64_t count = 1;
  for (const std::int64_t dim : s.scales) count *= dim;
  std::vector<T> x, zeros;
  for (int i = 0; i < 4 * 10 * 7; ++i) x.push_back(static_cast<T>(i * 37));
  std::vector<float> scales;
  for (std::int64_t i = 0; i < count; ++i) {
    scales.push_back(0.01F + static_cast<float>(i) / 7);
    zeros.push_back(static_cast<T>(i * 11));
  }
  expect_agreement(
      [&](TestOp& op) {
        op.input({4, 10, 7}, x).input(s.scales, scales);
        if (has_zeros) op.input(s.scales, zeros);
        op.output({4, 10, 7}).attribute("axis", s.axis).attribute("block_size", s.block);
      },
      {.kind = "DequantizeLinear", .version = 21, .float_outputs = {}});
}

TEST(CpuDequantizeRows, AgreesForScalesOfEveryForm) {
  const Scaling kForms[] = {{{}},
                            {{4}, 0},
                            {{10}, 1},
                            {{7}, -1},
                            {{4, 4, 7}, 1, 3},
                            {{4, 10, 2}, 2, 4},
                            {{2, 10, 7}, 0, 2}};
  for (const Scaling& form : kForms) {
    for (const bool has_zeros : {false, true}) {
      expect_dequantized<std::uint8_t>(form, has_zeros);
      expect_dequantized<std::int8_t>(form, has_zeros);
    }
  }
}

}  // namespace
}  // namespace sluice::cpu
