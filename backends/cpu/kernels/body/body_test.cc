#include "kernels/body/body.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "kernels/body/body_builder.h"
#include "kernels/convert/convert.h"
#include "testing/test_isas.h"

namespace sluice::cpu {
namespace {

using Unary = std::function<double(double)>;

struct UnaryCase {
  BodyOp op;
  float alpha;
  float beta;
  Unary exact;
};

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

double stored_as(Storage storage, double x) {
  const auto value = static_cast<float>(x);
  std::uint16_t bits = 0;
  float back = 0;
  portable::from_floats(storage, &value, 1, &bits);
  portable::to_floats(storage, &bits, 1, &back);
  return back;
}

std::vector<UnaryCase> unary_cases() {
  return {
      {BodyOp::kCopy, 0, 0, [](double x) { return x; }},
      {BodyOp::kNeg, 0, 0, [](double x) { return -x; }},
      {BodyOp::kAbs, 0, 0, [](double x) { return std::fabs(x); }},
      {BodyOp::kSquare, 0, 0, [](double x) { return x * x; }},
      {BodyOp::kSqrt, 0, 0, [](double x) { return std::sqrt(x); }},
      {BodyOp::kPowHalf, 0, 0, [](double x) { return std::pow(x, 0.5); }},
      {BodyOp::kReciprocal, 0, 0, [](double x) { return 1.0 / x; }},
      {BodyOp::kExp, 0, 0, [](double x) { return std::exp(x); }},
      {BodyOp::kLog, 0, 0, [](double x) { return std::log(x); }},
      {BodyOp::kErf, 0, 0, [](double x) { return std::erf(x); }},
      {BodyOp::kTanh, 0, 0, [](double x) { return std::tanh(x); }},
      {BodyOp::kSigmoid, 0, 0, sigmoid},
      {BodyOp::kRelu, 0, 0, [](double x) { return x > 0 ? x : 0; }},
      {BodyOp::kGelu, 0, 0, [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }},
      {BodyOp::kGeluTanh, 0, 0,
       [](double x) { return x * sigmoid(2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)); }},
      {BodyOp::kScale, -2.5f, 0, [](double x) { return -2.5 * x; }},
      {BodyOp::kSilu, 1.5f, 0, [](double x) { return x * sigmoid(1.5 * x); }},
      {BodyOp::kLeakyRelu, 0.1f, 0, [](double x) { return x < 0 ? 0.1f * x : x; }},
      {BodyOp::kElu, 2, 0, [](double x) { return x < 0 ? 2 * std::expm1(x) : x; }},
      {BodyOp::kHardSigmoid, 0.25f, 0.5f,
       [](double x) { return std::fmax(0, std::fmin(1, 0.25 * x + 0.5)); }},
      {BodyOp::kHardSwish, 0, 0,
       [](double x) { return x * std::fmax(0, std::fmin(1, x / 6 + 0.5)); }},
      {BodyOp::kClip, -1, 2, [](double x) { return std::fmax(-1, std::fmin(2, x)); }},
      {BodyOp::kClip, 2, -1, [](double) { return -1.0; }},
      {BodyOp::kSoftplus, 0, 0, [](double x) { return std::log1p(std::exp(x)); }},
      {BodyOp::kSoftsign, 0, 0, [](double x) { return x / (1 + std::fabs(x)); }},
      {BodyOp::kThreshold, 0.75f, 0, [](double x) { return x > 0.75 ? x : 0; }},
      {BodyOp::kFloor, 0, 0, [](double x) { return std::floor(x); }},
      {BodyOp::kCeil, 0, 0, [](double x) { return std::ceil(x); }},
      {BodyOp::kRound, 0, 0, [](double x) { return std::nearbyint(x); }},
      {BodyOp::kSign, 0, 0, [](double x) { return x > 0   ? 1
                                                  : x < 0 ? -1
                                                          : 0; }},
      {BodyOp::kSin, 0, 0, [](double x) { return std::sin(x); }},
      {BodyOp::kCos, 0, 0, [](double x) { return std::cos(x); }},
      {BodyOp::kTan, 0, 0, [](double x) { return std::tan(x); }},
      {BodyOp::kAsin, 0, 0, [](double x) { return std::asin(x); }},
      {BodyOp::kAcos, 0, 0, [](double x) { return std::acos(x); }},
      {BodyOp::kAtan, 0, 0, [](double x) { return std::atan(x); }},
      {BodyOp::kSinh, 0, 0, [](double x) { return std::sinh(x); }},
      {BodyOp::kCosh, 0, 0, [](double x) { return std::cosh(x); }},
      {BodyOp::kAsinh, 0, 0, [](double x) { return std::asinh(x); }},
      {BodyOp::kAcosh, 0, 0, [](double x) { return std::acosh(x); }},
      {BodyOp::kAtanh, 0, 0, [](double x) { return std::atanh(x); }},
      {BodyOp::kNot, 0, 0, [](double x) { return x == 0 ? 1 : 0; }},
      {BodyOp::kIsNan, 0, 0, [](double) { return 0; }},
      {BodyOp::kRoundToF16, 0, 0, [](double x) { return stored_as(Storage::kF16, x); }},
      {BodyOp::kRoundToBf16, 0, 0, [](double x) { return stored_as(Storage::kBf16, x); }},
  };
}

Body one_step(BodyOp op, int inputs, float alpha = 0, float beta = 0) {
  BodyBuilder builder(inputs);
  Body body;
  EXPECT_TRUE(builder.finish(builder.add_step(op, 0, inputs - 1, alpha, beta), &body));
  return body;
}

/// `size` is the magnitude of what cancels on the way.
void expect_close(float got, double want, const std::string& what, double size = 1) {
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << what << " is " << got;
  } else if (std::isinf(want) || std::fabs(want) > std::numeric_limits<float>::max()) {
    EXPECT_EQ(got, static_cast<float>(want)) << what;
  } else {
    EXPECT_NEAR(got, want, 2e-6 * std::fabs(want) + 3e-7 * size) << what;
  }
}

TEST(Body, UnaryStepsMatchDoubleArithmetic) {
  std::vector<float> x;
  for (int i = -1000; i <= 1000; ++i) x.push_back(static_cast<float>(i) * 0.0173f);
  for (const float v : {0.0f, 1e-6f, -1e-6f, 0.5f, 2.5f, 80.0f, -80.0f}) x.push_back(v);
  for (const Isa isa : isas_to_test()) {
    for (const UnaryCase& c : unary_cases()) {
      std::vector<float> y(x.size());
      const BodyOperand input{x.data(), 0, 1};
      SLUICE_CPU_PICK(isa, run_body)
      (one_step(c.op, 1, c.alpha, c.beta), &input,
       {y.data(), 0, 1, static_cast<std::int64_t>(x.size())}, nullptr);
      for (std::size_t i = 0; i < x.size(); ++i) {
        expect_close(y[i], c.exact(x[i]),
                     std::string(isa_name(isa)) + " op " + std::to_string(static_cast<int>(c.op)) +
                         " at " + std::to_string(x[i]),
                     1 + std::fabs(x[i]));
      }
    }
  }
}

TEST(Body, EdgesOfRoundPowersAndGates) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<std::array<float, 3>> cases = {
      // operation, x, y
      {static_cast<float>(BodyOp::kRound), 4194304.5f, 4194304},
      {static_cast<float>(BodyOp::kRound), 4194305.5f, 4194306},
      {static_cast<float>(BodyOp::kRound), -8388607.5f, -8388608},
      {static_cast<float>(BodyOp::kRound), 8388609, 8388609},
      {static_cast<float>(BodyOp::kPowHalf), -inf, inf},
      {static_cast<float>(BodyOp::kPowHalf), inf, inf},
      {static_cast<float>(BodyOp::kSigmoid), -inf, 0},
      {static_cast<float>(BodyOp::kSigmoid), -200, 0},
      {static_cast<float>(BodyOp::kSilu), -3e38f, 0},
      {static_cast<float>(BodyOp::kSilu), -1e30f, 0},
      {static_cast<float>(BodyOp::kGeluTanh), -3e38f, 0},
      {static_cast<float>(BodyOp::kSoftplus), 3e38f, 3e38f},
      {static_cast<float>(BodyOp::kSoftsign), 3e38f, 1},
      {static_cast<float>(BodyOp::kSoftsign), -3e38f, -1},
      {static_cast<float>(BodyOp::kThreshold), 1, 0},
      {static_cast<float>(BodyOp::kThreshold), inf, inf},
      {static_cast<float>(BodyOp::kThreshold), std::numeric_limits<float>::quiet_NaN(), 0},
  };
  for (const Isa isa : isas_to_test()) {
    for (const auto& [op, x, want] : cases) {
      float y = -1;
      const BodyOperand input{&x, 0, 1};
      SLUICE_CPU_PICK(isa, run_body)
      (one_step(static_cast<BodyOp>(op), 1, 1), &input, {&y, 0, 1, 1}, nullptr);
      EXPECT_EQ(y, want) << isa_name(isa) << " op " << op << " at " << x;
    }
  }
}

TEST(Body, SigmoidIsWithinFourUnitsInTheLastPlace) {
  std::vector<float> x;
  for (int i = -86000; i <= 30000; i += 7) x.push_back(static_cast<float>(i) * 1e-3f);
  for (const Isa isa : isas_to_test()) {
    std::vector<float> y(x.size());
    const BodyOperand input{x.data(), 0, 1};
    SLUICE_CPU_PICK(isa, run_body)
    (one_step(BodyOp::kSigmoid, 1), &input, {y.data(), 0, 1, static_cast<std::int64_t>(x.size())},
     nullptr);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double exact = sigmoid(x[i]);
      const auto rounded = static_cast<float>(exact);
      const double unit = std::nextafter(rounded, 2.0f) - rounded;
      ASSERT_LE(std::fabs(y[i] - exact), 4 * unit) << isa_name(isa) << " at " << x[i];
    }
  }
}

TEST(Body, InfinitiesAndNanMatchTheLibrary) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x{inf, -inf, nan, 200.0f, -200.0f};
  for (const Isa isa : isas_to_test()) {
    for (const UnaryCase& c : unary_cases()) {
      if (c.op != BodyOp::kExp && c.op != BodyOp::kTanh && c.op != BodyOp::kErf &&
          c.op != BodyOp::kSigmoid && c.op != BodyOp::kFloor) {
        continue;
      }
      std::vector<float> y(x.size());
      const BodyOperand input{x.data(), 0, 1};
      SLUICE_CPU_PICK(isa, run_body)
      (one_step(c.op, 1), &input, {y.data(), 0, 1, static_cast<std::int64_t>(x.size())}, nullptr);
      for (std::size_t i = 0; i < x.size(); ++i) {
        expect_close(y[i], c.exact(x[i]),
                     std::string(isa_name(isa)) + " op " + std::to_string(static_cast<int>(c.op)) +
                         " at " + std::to_string(x[i]));
      }
    }
  }
}

double combine(BodyOp op, double a, double b) {
  switch (op) {
    case BodyOp::kAdd: return a + b;
    case BodyOp::kSub: return a - b;
    case BodyOp::kMul: return a * b;
    case BodyOp::kDiv: return a / b;
    case BodyOp::kMin: return std::fmin(a, b);
    case BodyOp::kMax: return std::fmax(a, b);
    case BodyOp::kPow: return std::pow(a, b);
    case BodyOp::kLess: return a < b ? 1 : 0;
    case BodyOp::kLessOrEqual: return a <= b ? 1 : 0;
    case BodyOp::kEqual: return a == b ? 1 : 0;
    case BodyOp::kKeepWhere: return b != 0 ? a : 0;
    case BodyOp::kKeepUnless: return b == 0 ? a : 0;
    default: return a < 0 ? a * b : a;
  }
}

TEST(Body, BinaryStepsBroadcastEveryWay) {
  constexpr std::int64_t kRows = 5;
  constexpr std::int64_t kCols = 37;
  std::vector<float> a(kRows * kCols);
  std::vector<float> b(kRows * kCols);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = 0.1f + static_cast<float>(i % 23) * 0.3f;
    b[i] = 0.2f + static_cast<float>(i % 17) * 0.11f;
  }
  const std::int64_t strides[][2] = {{0, 0}, {1, 0}, {0, 1}, {kCols, 1}};
  for (const Isa isa : isas_to_test()) {
    for (int op = 0; is_binary(static_cast<BodyOp>(op)); ++op) {
      if (static_cast<BodyOp>(op) == BodyOp::kEither) continue;  // on bits: see Where
      for (const auto& sa : strides) {
        for (const auto& sb : strides) {
          std::vector<float> y(kRows * kCols, -1);
          const BodyOperand inputs[] = {{a.data(), sa[0], sa[1]}, {b.data(), sb[0], sb[1]}};
          SLUICE_CPU_PICK(isa, run_body)
          (one_step(static_cast<BodyOp>(op), 2), inputs, {y.data(), kCols, kRows, kCols}, nullptr);
          for (std::int64_t i = 0; i < kRows * kCols; ++i) {
            const std::int64_t r = i / kCols;
            const std::int64_t c = i % kCols;
            expect_close(
                y[static_cast<std::size_t>(i)],
                combine(static_cast<BodyOp>(op), a[static_cast<std::size_t>(r * sa[0] + c * sa[1])],
                        b[static_cast<std::size_t>(r * sb[0] + c * sb[1])]),
                std::string(isa_name(isa)) + " op " + std::to_string(op));
          }
        }
      }
    }
  }
}

TEST(Body, SumOfAProductBroadcastsEveryWayAndRoundsTwice) {
  constexpr std::int64_t kRows = 5;
  constexpr std::int64_t kCols = 37;
  std::vector<float> numbers[3];
  for (int i = 0; i < 3; ++i) {
    for (std::int64_t j = 0; j < kRows * kCols; ++j) {
      numbers[i].push_back(0.1F + static_cast<float>(j % (23 - i)) * 0.37F);
    }
  }
  BodyBuilder builder(3);
  const int product = builder.add_step(BodyOp::kMul, 0, 1);
  Body body;
  ASSERT_TRUE(builder.finish(builder.add_step(BodyOp::kAdd, 2, product), &body));
  ASSERT_EQ(body.step_count, 1);
  ASSERT_EQ(body.temp_count, 0);
  const std::int64_t strides[][2] = {{0, 0}, {1, 0}, {0, 1}, {kCols, 1}};
  for (const Isa isa : isas_to_test()) {
    for (int ways = 0; ways < 4 * 4 * 4; ++ways) {
      const std::int64_t* of[3] = {strides[ways % 4], strides[ways / 4 % 4], strides[ways / 16]};
      BodyOperand inputs[3];
      for (int i = 0; i < 3; ++i) inputs[i] = {numbers[i].data(), of[i][0], of[i][1]};
      std::vector<float> y(kRows * kCols, -1);
      SLUICE_CPU_PICK(isa, run_body)(body, inputs, {y.data(), kCols, kRows, kCols}, nullptr);
      for (std::int64_t at = 0; at < kRows * kCols; ++at) {
        const auto value = [&](int i) {
          return inputs[i].data[at / kCols * of[i][0] + at % kCols * of[i][1]];
        };
        const volatile float rounded = value(0) * value(1);
        EXPECT_EQ(y[static_cast<std::size_t>(at)], rounded + value(2)) << isa_name(isa) << ways;
      }
    }
  }
}

TEST(BodyBuilder, KeepsAProductThatOthersRead) {
  BodyBuilder builder(2);
  const int product = builder.add_step(BodyOp::kMul, 0, 1);
  const int sum = builder.add_step(BodyOp::kAdd, product, 1);
  Body body;
  ASSERT_TRUE(builder.finish(builder.add_step(BodyOp::kSub, sum, product), &body));
  EXPECT_EQ(body.step_count, 3);
}

TEST(Body, ChainWithTemporariesRunsInPlace) {
  // y = relu(x * s + r) - x, in place over x, rows apart by more than their length
  BodyBuilder builder(3);
  const int scaled = builder.add_step(BodyOp::kMul, 0, 1);
  builder.add_step(BodyOp::kExp, 0);  // nobody needs it
  const int sum = builder.add_step(BodyOp::kAdd, scaled, 2);
  const int relu = builder.add_step(BodyOp::kRelu, sum);
  Body body;
  ASSERT_TRUE(builder.finish(builder.add_step(BodyOp::kSub, relu, 0), &body));
  EXPECT_EQ(body.step_count, 3);  // the product and the sum are one
  EXPECT_EQ(body.temp_count, 1);
  for (const Isa isa : isas_to_test()) {
    std::vector<float> x(3 * 50, 7);
    std::vector<float> scale(33);
    const std::vector<float> offset{-3, 0, 4};
    for (std::size_t i = 0; i < 33; ++i) scale[i] = static_cast<float>(i) - 16;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 11) - 5;
    const std::vector<float> before = x;
    std::vector<float> scratch(static_cast<std::size_t>(body.scratch_bytes()) / sizeof(float));
    const BodyOperand inputs[] = {{x.data(), 50, 1}, {scale.data(), 0, 1}, {offset.data(), 1, 0}};
    SLUICE_CPU_PICK(isa, run_body)(body, inputs, {x.data(), 50, 3, 33}, scratch.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t r = i / 50;
      const std::size_t c = i % 50;
      const float want =
          c < 33 ? std::fmax(0.0f, before[i] * scale[c] + offset[r]) - before[i] : before[i];
      EXPECT_FLOAT_EQ(x[i], want);
    }
  }
}

TEST(BodyBuilder, RefusesMoreValuesAliveThanTemporaries) {
  BodyBuilder builder(1);
  std::vector<int> values;
  for (int i = 0; i <= kBodyMaxTemps; ++i) values.push_back(builder.add_step(BodyOp::kNeg, 0));
  int sum = 0;
  for (const int value : values) sum = builder.add_step(BodyOp::kAdd, sum, value);
  Body body;
  EXPECT_FALSE(builder.finish(sum, &body));
}

}  // namespace
}  // namespace sluice::cpu
