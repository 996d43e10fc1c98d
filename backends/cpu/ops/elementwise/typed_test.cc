#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "testing/agreement.h"
#include "testing/test_support.h"

namespace sluice::cpu {
namespace {

/// Ends of the type, zeros (unless it divides) and numbers between.
template <typename T>
std::vector<T> numbers(std::int64_t count, int seed, bool has_zero = true) {
  using Limits = std::numeric_limits<T>;
  const T some[] = {Limits::max(), Limits::lowest(), T(0),  T(1), T(-1),
                    T(7),          T(100),           T(-3), T(2), T(64)};
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const T value = some[static_cast<std::size_t>((i * 7 + i / 10 + seed) % 10)];
    values.push_back(value == T(0) && !has_zero ? T(3) : value);
  }
  return values;
}

template <typename T>
void expect_binary(const char* kind, bool gives_flags) {
  const bool has_zero = std::string(kind) != "Div" && std::string(kind) != "Mod";
  const Shape shapes[][2] = {{{3, 41}, {3, 41}}, {{3, 41}, {41}}, {{3, 1}, {41}}, {{1}, {3, 41}},
                             {{3, 41}, {}},      {{0, 41}, {41}}, {{}, {}}};
  for (const auto& [a, b] : shapes) {
    const auto size = [](const Shape& dims) {
      std::int64_t count = 1;
      for (const std::int64_t dim : dims) count *= dim;
      return count;
    };
    Shape out = size(a) == 0 ? a : a.empty() && b.empty() ? Shape{} : Shape{3, 41};
    expect_agreement(
        [&](TestOp& op) {
          op.input<T>(a, numbers<T>(size(a), 1));
          op.input<T>(b, numbers<T>(size(b), 4, has_zero));
          gives_flags ? op.output<std::uint8_t>(out).set_output_type(0, plugin::kBool)
                      : op.output<T>(out);
        },
        {.kind = kind, .version = 19, .float_outputs = {}});
  }
}

template <typename T>
void expect_arithmetic() {
  for (const char* kind : {"Add", "Sub", "Mul", "Div", "Mod", "Max", "Min", "Sum"}) {
    // Sum is of floats; Mod of floats has a test of its own.
    if (std::string(kind) == (std::is_floating_point_v<T> ? "Mod" : "Sum")) continue;
    expect_binary<T>(kind, false);
  }
  for (const char* kind : {"Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"}) {
    expect_binary<T>(kind, true);
  }
}

TEST(CpuTyped, AgreesInEveryType) {
  expect_arithmetic<std::int64_t>();
  expect_arithmetic<std::int32_t>();
  expect_arithmetic<std::uint16_t>();
  expect_arithmetic<std::uint8_t>();
  expect_arithmetic<std::int8_t>();
  expect_arithmetic<double>();
}

TEST(CpuTyped, AgreesOnBits) {
  for (const char* kind : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"}) {
    expect_binary<std::int64_t>(kind, false);
    expect_binary<std::uint16_t>(kind, false);
  }
  for (const char* direction : {"LEFT", "RIGHT"}) {
    expect_agreement(
        [&](TestOp& op) {
          op.input<std::int64_t>({77}, numbers<std::int64_t>(77, 1));
          op.input<std::int64_t>({77}, numbers<std::int64_t>(77, 4)).output<std::int64_t>({77});
          op.attribute("direction", direction);
        },
        {.kind = "BitShift", .float_outputs = {}});
  }
}

TEST(CpuTyped, AgreesOnOneOperand) {
  for (const char* kind : {"Abs", "Neg", "Sign", "BitwiseNot"}) {
    expect_agreement(
        [&](TestOp& op) {
          op.input<std::int32_t>({5, 7}, numbers<std::int32_t>(35, 2)).output<std::int32_t>({5, 7});
        },
        {.kind = kind, .float_outputs = {}});
  }
}

template <typename T>
void expect_tests_of_floats() {
  for (const char* kind : {"Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"}) {
    expect_binary<T>(kind, true);
  }
  std::vector<T> x = numbers<T>(91, 3);
  const T infinity = std::numeric_limits<T>::infinity();
  const T nan = std::numeric_limits<T>::quiet_NaN();
  for (std::size_t i = 0; i < x.size(); i += 3) x[i] = i % 2 == 0 ? nan : infinity;
  for (std::size_t i = 1; i < x.size(); i += 5) x[i] = -infinity;
  const auto fill = [&](TestOp& op) {
    op.input<T>({7, 13}, x);
    op.output<std::uint8_t>({7, 13}).set_output_type(0, plugin::kBool);
  };
  for (const char* kind : {"IsNaN", "IsInf"}) {
    expect_agreement(fill, {.kind = kind, .version = 20, .float_outputs = {}});
  }
  const std::vector<T> backwards(x.rbegin(), x.rend());
  for (const char* kind : {"Equal", "Less", "GreaterOrEqual"}) {
    const auto compare = [&](TestOp& op) {
      op.input<T>({7, 13}, x);
      op.input<T>({7, 13}, backwards);
      op.output<std::uint8_t>({7, 13}).set_output_type(0, plugin::kBool);
    };
    expect_agreement(compare, {.kind = kind, .version = 19, .float_outputs = {}});
  }
}

TEST(CpuTyped, TestsFloatsInTheirOwnType) {
  expect_tests_of_floats<float>();
  expect_tests_of_floats<double>();
}

TEST(CpuTyped, RemainsWithTheSignOfADividend) {
  for (const std::int64_t fmod : {0, 1}) {
    expect_agreement(
        [&](TestOp& op) {
          op.input<std::int64_t>({33}, numbers<std::int64_t>(33, 2));
          op.input<std::int64_t>({33}, numbers<std::int64_t>(33, 5, false))
              .output<std::int64_t>({33});
          op.attribute("fmod", fmod);
        },
        {.kind = "Mod", .float_outputs = {}});
  }
}

TEST(CpuTyped, RemaindersOfFloatsAreExact) {
  std::vector<float> a = random_floats(200, 3);
  std::vector<float> b = random_floats(200, 4);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] *= std::exp2(static_cast<float>(i % 60) - 20);
    if (i % 5 == 0) a[i] = b[i] * static_cast<float>(i);
  }
  const float special[] = {0.0F, -0.0F, NAN, INFINITY, -INFINITY, 3e38F, -1e-30F};
  for (std::size_t i = 0; i < 49; ++i) {
    a[i] = special[i / 7];
    b[i] = special[i % 7];
  }
  expect_agreement(
      [&](TestOp& op) {
        op.input({200}, a).input({200}, b).output({200}).attribute("fmod", std::int64_t{1});
      },
      {.kind = "Mod", .version = 13, .tolerance = 0});
}

TEST(CpuTyped, PowersOfIntegersWrap) {
  for (const std::int64_t exponent : {0, 1, 2, 3, 13, 64, -1, -2}) {
    expect_agreement(
        [&](TestOp& op) {
          op.input<std::int64_t>({33}, numbers<std::int64_t>(33, 2));
          op.input<std::int64_t>({}, {exponent}).output<std::int64_t>({33});
        },
        {.kind = "Pow", .version = 15, .float_outputs = {}});
    expect_agreement(
        [&](TestOp& op) {
          op.input<std::int32_t>({5}, {0, 1, -1, 2, -3});
          op.input<std::int32_t>({2, 1}, {static_cast<std::int32_t>(exponent), 5});
          op.output<std::int32_t>({2, 5});
        },
        {.kind = "Pow", .version = 15, .float_outputs = {}});
  }
}

TEST(CpuTyped, RaisesDoublesToPowers) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> bases = {0,     -0.0,      1,          -1,  0.5, -2.5,
                                     1e200, kInfinity, -kInfinity, nan, 7,   1e-200};
  for (const double exponent : {0.0, 1.0, 2.0, 3.0, 0.5, -1.0, 2.5, kInfinity, nan}) {
    expect_agreement(
        [&](TestOp& op) {
          op.input<double>({12}, bases).input<double>({}, {exponent}).output<double>({12});
        },
        {.kind = "Pow", .version = 15, .float_outputs = {}, .double_outputs = {0}});
  }
  const auto each_by_each = [&](TestOp& op) {
    op.input<double>({12}, bases).input<double>({3, 1}, {2, -1, 0.5}).output<double>({3, 12});
  };
  expect_agreement(each_by_each,
                   {.kind = "Pow", .version = 15, .float_outputs = {}, .double_outputs = {0}});
}

TEST(CpuTyped, RefusesDivisionByZero) {
  for (const char* kind : {"Div", "Mod"}) {
    TestOp op(kind, "", 14);
    op.input<std::int64_t>({3}, {1, 2, 3})
        .input<std::int64_t>({3}, {1, 0, 1})
        .output<std::int64_t>({3});
    EXPECT_EQ(op.run(Backend(), 2).code, SLUICE_INVALID_ARGUMENT) << kind;
  }
}

/// All workers look at many divisors.
TEST(CpuTyped, RefusesDivisionByAZeroAnywhereAmongManyDivisors) {
  constexpr std::int64_t kCount = 5000;
  for (const std::int64_t zero : {-1, 0, 77, 2500, 4999}) {
    for (const int workers : {1, 2, 3}) {
      std::vector<std::int32_t> divisors(kCount, 3);
      if (zero >= 0) divisors[static_cast<std::size_t>(zero)] = 0;
      TestOp op("Div", "", 14);
      op.input<std::int32_t>({kCount}, std::vector<std::int32_t>(kCount, 21));
      op.input<std::int32_t>({kCount}, divisors).output<std::int32_t>({kCount});
      const Status status = op.run(Backend(), workers);
      if (zero >= 0) {
        EXPECT_EQ(status.code, SLUICE_INVALID_ARGUMENT) << zero << " of " << workers;
        continue;
      }
      ASSERT_TRUE(status.is_ok());
      EXPECT_EQ(op.result<std::int32_t>(), std::vector<std::int32_t>(kCount, 7));
    }
  }
}

TEST(CpuTyped, AgreesOnLogic) {
  const std::vector<std::uint8_t> a = {0, 1, 0, 1, 1};
  const std::vector<std::uint8_t> b = {0, 0, 1, 1, 0};
  for (const char* kind : {"And", "Or", "Xor", "Equal", "Not"}) {
    expect_agreement(
        [&](TestOp& op) {
          op.input<std::uint8_t>({5}, a).set_input_type(0, plugin::kBool);
          if (std::string(kind) != "Not") {
            op.input<std::uint8_t>({5}, b).set_input_type(1, plugin::kBool);
          }
          op.output<std::uint8_t>({5}).set_output_type(0, plugin::kBool);
        },
        {.kind = kind, .version = 19, .float_outputs = {}});
  }
}

TEST(CpuTyped, SquaresIntegersOfEveryWidth) {
  const auto expect = [](auto zero) {
    using T = decltype(zero);
    expect_agreement(
        [](TestOp& op) {
          op.input<T>({37}, numbers<T>(37, 1)).template input<T>({}, {2}).template output<T>({37});
        },
        {.kind = "Pow", .version = 15, .float_outputs = {}});
  };
  expect(std::int64_t{});
  expect(std::int32_t{});
}

TEST(CpuTyped, ClipsBetweenBoundsThatMayBeAbsent) {
  for (const int bounds : {0, 1, 2, 3}) {
    expect_agreement(
        [&](TestOp& op) {
          op.input<std::int64_t>({37}, numbers<std::int64_t>(37, 1));
          (bounds & 1) != 0 ? op.input<std::int64_t>({}, {-1}) : op.absent_input();
          if ((bounds & 2) != 0) op.input<std::int64_t>({}, {50});
          op.output<std::int64_t>({37});
        },
        {.kind = "Clip", .version = 13, .float_outputs = {}});
  }
}

TEST(CpuTyped, IgnoresBoundsThatAreNan) {
  for (const bool is_upper : {false, true}) {
    expect_agreement(
        [&](TestOp& op) {
          op.input<double>({5}, {-3, 0, NAN, 7, INFINITY});
          op.input<double>({}, {is_upper ? -1 : NAN}).input<double>({}, {is_upper ? NAN : 2});
          op.output<double>({5});
        },
        {.kind = "Clip", .version = 13, .float_outputs = {}});
  }
}

/// Denormal numbers count as zero while a list runs, for reference kernels in it, too; their sign
/// is told.
TEST(CpuTyped, TellsTheSignOfDenormalNumbers) {
  for (const Backend& backend : backends_to_test()) {
    TestOp floats("Sign");
    floats.input({7}, {1e-40F, -1e-40F, 0.0F, 5, -INFINITY, NAN, 1e-30F}).output({7});
    ASSERT_TRUE(floats.run(backend, 1).is_ok());
    std::vector<float> got = floats.result();
    EXPECT_TRUE(std::isnan(got[5]));
    got[5] = 0;
    EXPECT_EQ(got, (std::vector<float>{1, -1, 0, 1, -1, 0, 1}));
    TestOp doubles("Sign");
    doubles.input<double>({4}, {1e-310, -1e-310, 0.0, -3}).output<double>({4});
    ASSERT_TRUE(doubles.run(backend, 1).is_ok());
    EXPECT_EQ(doubles.result<double>(), (std::vector<double>{1, -1, 0, -1}));
  }
}

TEST(CpuTyped, ChoosesElementsOfEveryWidth) {
  const auto expect = [](auto zero, const Shape& where, const Shape& a, const Shape& b) {
    using T = decltype(zero);
    const auto size = [](const Shape& dims) {
      return dims.empty() ? 1 : dims[0] * (dims.size() > 1 ? dims[1] : 1);
    };
    expect_agreement(
        [&](TestOp& op) {
          std::vector<std::uint8_t> flags;
          for (std::int64_t i = 0; i < size(where); ++i) flags.push_back(i % 3 == 0 ? 1 : 0);
          op.input<std::uint8_t>(where, flags).set_input_type(0, plugin::kBool);
          op.input<T>(a, numbers<T>(size(a), 1));
          op.input<T>(b, numbers<T>(size(b), 5));
          op.output<T>({4, 19});
        },
        {.kind = "Where", .version = 16, .float_outputs = {}});
  };
  for (const Shape& where : {Shape{4, 19}, Shape{4, 1}, Shape{19}}) {
    expect(std::int64_t{}, where, {4, 19}, {});
    expect(std::int32_t{}, where, {}, {4, 19});
    expect(std::uint8_t{}, where, {4, 19}, {4, 19});
    expect(double{}, where, {19}, {4, 1});
  }
}

/// Edges of doubles: halves between integers, integers that have no fraction left, and no numbers.
std::vector<double> edges_of_doubles(std::int64_t count) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double some[] = {0.0,
                         -0.0,
                         0.5,
                         -0.5,
                         1.5,
                         2.5,
                         -2.5,
                         1e300,
                         -1e300,
                         kInfinity,
                         -7.25,
                         -kInfinity,
                         4503599627370495.5,
                         9007199254740993.0,
                         1e-300,
                         -1e-300,
                         std::numeric_limits<double>::quiet_NaN()};
  std::vector<double> x;
  for (std::int64_t i = 0; i < count; ++i) x.push_back(some[static_cast<std::size_t>(i % 17)]);
  return x;
}

TEST(CpuTyped, AgreesOnFunctionsOfDoublesOfEveryLength) {
  for (const char* kind : {"Relu", "Floor", "Ceil", "Round", "Sin", "Cos"}) {
    for (const std::int64_t n : {1, 7, 17, 33, 100, 5000}) {
      expect_agreement(
          [&](TestOp& op) { op.input<double>({n}, edges_of_doubles(n)).output<double>({n}); },
          {.kind = kind, .version = 14, .float_outputs = {}, .double_outputs = {0}});
    }
  }
}

TEST(CpuTyped, RectifiesIntegersWithSigns) {
  const auto expect = [](auto zero) {
    using T = decltype(zero);
    expect_agreement(
        [](TestOp& op) {
          op.input<T>({5, 29}, numbers<T>(145, 1)).template output<T>({5, 29});
        },
        {.kind = "Relu", .version = 14, .float_outputs = {}});
  };
  expect(std::int8_t{});
  expect(std::int32_t{});
  expect(std::int64_t{});
}

TEST(CpuTyped, ClipsDoublesBehindWhatStaysInACache) {
  for (const std::int64_t n : {5, 2048, 2049, 9000}) {
    expect_agreement(
        [&](TestOp& op) {
          op.input<double>({n}, edges_of_doubles(n));
          op.input<double>({}, {-1.5}).input<double>({}, {2}).output<double>({n});
        },
        {.kind = "Clip", .version = 13, .float_outputs = {}, .double_outputs = {0}});
    expect_agreement(
        [&](TestOp& op) {
          for (int i = 0; i < 3; ++i) op.input<std::int32_t>({n}, numbers<std::int32_t>(n, i));
          op.output<std::int32_t>({n});
        },
        {.kind = "Max", .version = 13, .float_outputs = {}});
  }
}

/// Every number of 16 bits that is no denormal one, in both types.
TEST(CpuTyped, TestsAndChoosesFloatsOf16Bits) {
  std::vector<std::uint16_t> bits;
  std::vector<std::uint8_t> flags;
  for (std::uint32_t i = 0; i < 0x10000; ++i) {
    if ((i & 0x7fff) != 0 && (i & 0x7c00) == 0) continue;
    bits.push_back(static_cast<std::uint16_t>(i));
    flags.push_back(i % 3 == 0 ? 1 : 0);
  }
  const auto n = static_cast<std::int64_t>(bits.size());
  const std::vector<std::uint16_t> backwards(bits.rbegin(), bits.rend());
  for (const sluice_element_type half : {plugin::kF16, plugin::kBf16}) {
    for (const char* kind : {"IsNaN", "IsInf"}) {
      expect_agreement(
          [&](TestOp& op) {
            op.input<std::uint16_t>({n}, bits).set_input_type(0, half);
            op.output<std::uint8_t>({n}).set_output_type(0, plugin::kBool);
          },
          {.kind = kind, .version = 20, .float_outputs = {}});
    }
    expect_agreement(
        [&](TestOp& op) {
          op.input<std::uint8_t>({n}, flags).set_input_type(0, plugin::kBool);
          op.input<std::uint16_t>({n}, bits).set_input_type(1, half);
          op.input<std::uint16_t>({n}, backwards).set_input_type(2, half);
          op.output<std::uint16_t>({n}).set_output_type(0, half);
        },
        {.kind = "Where", .version = 16, .float_outputs = {}});
  }
}

}  // namespace
}  // namespace sluice::cpu
