// The error bounds that kernels/body/functions.h states, and what the functions give at the edges.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "kernels/body/body.h"
#include "kernels/body/body_builder.h"
#include "testing/test_isas.h"

namespace sluice::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> run(Isa isa, BodyOp op, const std::vector<float>& x) {
  BodyBuilder builder(1);
  Body body;
  EXPECT_TRUE(builder.finish(builder.add_step(op, 0, 0, 0, 0), &body));
  std::vector<float> y(x.size());
  const BodyOperand input{x.data(), 0, 1};
  const auto count = static_cast<std::int64_t>(x.size());
  SLUICE_CPU_PICK(isa, run_body)(body, &input, {y.data(), 0, 1, count}, nullptr);
  return y;
}

struct Function {
  BodyOp op;
  double units;  ///< in the last place of the exact result
  std::function<double(double)> exact;
};

const std::vector<Function>& functions() {
  static const std::vector<Function> all = {
      {BodyOp::kLog, 2, [](double x) { return std::log(x); }},
      {BodyOp::kSin, 3, [](double x) { return std::sin(x); }},
      {BodyOp::kCos, 3, [](double x) { return std::cos(x); }},
      {BodyOp::kTan, 4, [](double x) { return std::tan(x); }},
      {BodyOp::kAsin, 3, [](double x) { return std::asin(x); }},
      {BodyOp::kAcos, 4, [](double x) { return std::acos(x); }},
      {BodyOp::kAtan, 3, [](double x) { return std::atan(x); }},
      {BodyOp::kSinh, 4, [](double x) { return std::sinh(x); }},
      {BodyOp::kCosh, 4, [](double x) { return std::cosh(x); }},
      {BodyOp::kAsinh, 4, [](double x) { return std::asinh(x); }},
      {BodyOp::kAcosh, 4, [](double x) { return std::acosh(x); }},
      {BodyOp::kAtanh, 4, [](double x) { return std::atanh(x); }},
      {BodyOp::kTanh, 8, [](double x) { return std::tanh(x); }},
      {BodyOp::kSoftplus, 4,
       [](double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }}};
  return all;
}

/// Arguments of all normal sizes, more of those around 1 and near multiples of pi/2.
std::vector<float> arguments() {
  std::vector<float> x;
  for (float size = 1.2e-38F; size < 3e38F; size *= 1.0173F) x.push_back(size);
  for (int i = 1; i < 20000; ++i) x.push_back(static_cast<float>(i) * 1.03e-4F);
  for (int i = 1; i < 50000; i += 3) x.push_back(static_cast<float>(i * M_PI_2));
  const std::size_t count = x.size();
  for (std::size_t i = 0; i < count; ++i) x.push_back(-x[i]);
  return x;
}

TEST(Functions, StayWithinTheirUnitsInTheLastPlace) {
  const std::vector<float> x = arguments();
  for (const Isa isa : isas_to_test()) {
    for (const Function& f : functions()) {
      const std::vector<float> y = run(isa, f.op, x);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double exact = f.exact(x[i]);
        const auto rounded = static_cast<float>(exact);
        if (std::isnan(exact) || std::isinf(rounded) || std::fabs(rounded) < 1e-37F) {
          ASSERT_TRUE(!std::isnan(exact) || std::isnan(y[i])) << static_cast<int>(f.op);
          continue;
        }
        const double unit = std::nextafter(std::fabs(rounded), kInfinity) - std::fabs(rounded);
        ASSERT_LE(std::fabs(y[i] - exact), f.units * unit)
            << isa_name(isa) << " function " << static_cast<int>(f.op) << " at " << x[i];
      }
    }
  }
}

std::vector<float> powers(Isa isa, const std::vector<float>& x, const std::vector<float>& z) {
  BodyBuilder builder(2);
  Body body;
  EXPECT_TRUE(builder.finish(builder.add_step(BodyOp::kPow, 0, 1, 0, 0), &body));
  std::vector<float> y(x.size());
  const BodyOperand inputs[] = {{x.data(), 0, 1}, {z.data(), 0, 1}};
  const auto count = static_cast<std::int64_t>(x.size());
  SLUICE_CPU_PICK(isa, run_body)(body, inputs, {y.data(), 0, 1, count}, nullptr);
  return y;
}

TEST(Functions, PowersStayWithinAUnitInTheLastPlace) {
  std::vector<float> x, z;
  for (float size = 1.2e-38F; size < 3e38F; size *= 1.0973F) {
    for (const float exponent : {0.0F, 1.0F, 2.0F, -3.0F, 0.3333F, 2.2F, -0.01F, 17.5F, 1e-30F}) {
      x.push_back(size);
      z.push_back(exponent);
    }
  }
  for (int i = 1; i < 4000; ++i) {
    x.push_back(static_cast<float>(i) * 1e-3F);
    z.push_back(static_cast<float>(i * 37 % 101) * 0.31F - 12);
  }
  for (const Isa isa : isas_to_test()) {
    const std::vector<float> y = powers(isa, x, z);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double exact = std::pow(static_cast<double>(x[i]), static_cast<double>(z[i]));
      const auto rounded = static_cast<float>(exact);
      if (std::isinf(rounded) || rounded < 1e-37F) continue;
      const double unit = std::nextafter(rounded, kInfinity) - rounded;
      ASSERT_LE(std::fabs(y[i] - exact), unit) << isa_name(isa) << " " << x[i] << "^" << z[i];
    }
  }
}

TEST(Functions, PowersHaveTheLibrarysEdges) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float some[] = {0, -0.0F, 1, -1, 2, -2, 3, 0.5F, -0.5F, 1e30F, kInfinity, -kInfinity, nan};
  std::vector<float> x, z;
  for (const float base : some) {
    for (const float exponent : some) {
      x.push_back(base);
      z.push_back(exponent);
    }
  }
  for (const Isa isa : isas_to_test()) {
    const std::vector<float> y = powers(isa, x, z);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float want = std::pow(x[i], z[i]);
      EXPECT_TRUE(std::isnan(want) ? std::isnan(y[i])
                                   : y[i] == want && std::signbit(y[i]) == std::signbit(want))
          << isa_name(isa) << " " << x[i] << "^" << z[i] << " is " << y[i] << ", not " << want;
    }
  }
}

TEST(Functions, GiveTheLibrarysEdges) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x = {0, -0.0F, 1, -1, 1.0000001F, kInfinity, -kInfinity, nan, 3e38F};
  for (const Isa isa : isas_to_test()) {
    for (const Function& f : functions()) {
      const std::vector<float> y = run(isa, f.op, x);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const std::string where = std::string(isa_name(isa)) + " function " +
                                  std::to_string(static_cast<int>(f.op)) + " at " +
                                  std::to_string(x[i]);
        const auto want = static_cast<float>(f.exact(x[i]));
        EXPECT_EQ(std::isnan(y[i]), std::isnan(want)) << where;
        if (std::isnan(want)) continue;
        if (std::isinf(want)) {
          EXPECT_EQ(y[i], want) << where;
          continue;
        }
        EXPECT_NEAR(y[i], want, 1e-6F * std::fabs(want)) << where;
        EXPECT_EQ(std::signbit(y[i]), std::signbit(want)) << where;
      }
    }
  }
}

}  // namespace
}  // namespace sluice::cpu
