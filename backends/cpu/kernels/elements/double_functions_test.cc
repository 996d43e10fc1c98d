// The error bounds that kernels/elements/double_functions.h states, and what the functions give at
// the edges.

#include "kernels/elements/double_functions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "testing/agreement.h"
#include "testing/test_isas.h"

namespace sluice::cpu {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Function {
  const char* kind;
  TypedOp op;
  double units;  ///< in the last place of the exact result
  long double (*exact)(long double);
};

const std::vector<Function>& functions() {
  static const std::vector<Function> kAll = {
      {"Exp", TypedOp::kExp, 2, [](long double x) { return std::exp(x); }},
      {"Log", TypedOp::kLog, 2, [](long double x) { return std::log(x); }},
      {"Sigmoid", TypedOp::kSigmoid, 4, [](long double x) { return 1 / (1 + std::exp(-x)); }},
      {"Tanh", TypedOp::kTanh, 4, [](long double x) { return std::tanh(x); }},
      {"Reciprocal", TypedOp::kReciprocal, 0.5, [](long double x) { return 1 / x; }},
      {"Sqrt", TypedOp::kSqrt, 0.5, [](long double x) { return std::sqrt(x); }}};
  return kAll;
}

/// Arguments of all sizes that are normal numbers, more of those around 1, and the edges.
std::vector<double> arguments() {
  std::vector<double> x;
  for (double size = 2.3e-308; size < 1.7e308; size *= 1.0973) x.push_back(size);
  for (int i = 1; i < 40000; ++i) x.push_back(static_cast<double>(i) * 1.03e-4);
  for (int i = 1; i < 7500; ++i) x.push_back(static_cast<double>(i) * 0.1003);
  const std::size_t count = x.size();
  for (std::size_t i = 0; i < count; ++i) x.push_back(-x[i]);
  for (const double edge :
       {0.0, -0.0, kInfinity, -kInfinity, std::nan(""), 5e-324, 709.78, -745.2}) {
    x.push_back(edge);
  }
  return x;
}

bool is_near(double y, long double exact, double units) {
  const auto rounded = static_cast<double>(exact);
  if (std::isnan(exact)) return std::isnan(y);
  if (std::isinf(rounded)) return y == rounded;
  // Where the result is below all normal numbers, a run may make it zero.
  if (std::fabs(rounded) < 2.3e-308) return std::fabs(y) < 2.3e-308;
  const double unit = std::nextafter(std::fabs(rounded), kInfinity) - std::fabs(rounded);
  // Half a unit may be below all doubles.
  return std::fabs(static_cast<long double>(y) - exact) <= 1.0001L * units * unit;
}

TEST(DoubleFunctions, StayWithinTheirUnitsInTheLastPlace) {
  const std::vector<double> x = arguments();
  for (const Isa isa : isas_to_test()) {
    for (const Function& f : functions()) {
      std::vector<double> y(x.size());
      SLUICE_CPU_PICK(isa, double_function)
      (f.op)(x.data(), 1, nullptr, 0, y.data(), static_cast<std::int64_t>(x.size()));
      for (std::size_t i = 0; i < x.size(); ++i) {
        ASSERT_TRUE(is_near(y[i], f.exact(x[i]), f.units))
            << isa_name(isa) << ' ' << f.kind << " of " << x[i] << ": " << y[i];
      }
    }
  }
}

TEST(DoubleFunctions, RunAsOperatorsOfEveryLength) {
  for (const Function& f : functions()) {
    for (const Backend& backend : backends_to_test()) {
      for (std::int64_t n = 1; n < 20; ++n) {
        std::vector<double> x;
        for (std::int64_t i = 0; i < n; ++i) x.push_back(0.25 + 0.37 * static_cast<double>(i));
        TestOp op(f.kind, "", 13);
        op.input<double>({n}, x).output<double>({n});
        std::unique_ptr<Kernel> kernel;
        ASSERT_TRUE(op.make(backend, &kernel).is_ok());
        ASSERT_FALSE(kernel->is_generic()) << f.kind;
        ASSERT_TRUE(op.run(*kernel, 2).is_ok());
        for (std::size_t i = 0; i < x.size(); ++i) {
          ASSERT_TRUE(is_near(op.result<double>()[i], f.exact(x[i]), f.units)) << f.kind;
        }
      }
    }
  }
}

}  // namespace
}  // namespace sluice::cpu
