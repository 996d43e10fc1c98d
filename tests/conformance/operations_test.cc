// What a plug-in answers about operations, and what its kernels compute.
#include <algorithm>
#include <cmath>

#include "conformance/fixture.h"
#include "support/tolerance.h"

namespace sluice::conformance {
namespace {

using ir::ElementType;
using testing::is_close;
using testing::tolerance_of;

class Operations : public Conformance {};
SLUICE_INSTANTIATE_FOR_PLUGINS(Operations);

void expect_refused(const std::shared_ptr<const Backend>& plugin, const Result<Op>& op) {
  SLUICE_ASSERT_OK(op);
  const auto support = plugin->query(*op);
  if (support.is_ok()) {
    EXPECT_FALSE(support->is_supported);
    EXPECT_FALSE(support->reason.empty());
  }
  const auto kernel = Kernel::create(plugin, 0, *op);
  ASSERT_FALSE(kernel.is_ok());
  EXPECT_EQ(kernel.status().message().find("failed without a message"), std::string::npos);
}

TEST_P(Operations, RefusesUnknownOperators) {
  const ir::Type type = tensor_type(ElementType::kF32, {4});
  expect_refused(plugin, OpMaker("NoSuchOperator").input(type).output(type).make());
  expect_refused(plugin, OpMaker("Relu", 14, "no.such.domain").input(type).output(type).make());
}

TEST_P(Operations, RefusesShapesThatContradictEachOther) {
  const ir::Type three = tensor_type(ElementType::kF32, {3});
  const ir::Type four = tensor_type(ElementType::kF32, {4});
  expect_refused(plugin, OpMaker("Relu", 14).input(three).output(four).make());
  expect_refused(plugin, OpMaker("Add", 14).input(three).input(four).output(four).make());
}

TEST_P(Operations, RefusesAnUnknownStepOfABody) {
  const ir::Type type = tensor_type(ElementType::kF32, {4});
  expect_refused(plugin,
                 OpMaker("Relu", 14).input(type).output(type).step("NoSuchStep", 1, {0}).make());
}

TEST_P(Operations, AnswersForUnknownDimensions) {
  const ir::Type type = ir::Type::tensor(ElementType::kF32, ir::Shape{ir::Dim::symbol("N"), 8});
  const auto op = OpMaker("Relu", 14).input(type).output(type).make();
  SLUICE_ASSERT_OK(op);
  SLUICE_REQUIRE_SUPPORT(*op);
}

TEST_P(Operations, TensorsWithoutElements) {
  const ir::Type type = tensor_type(ElementType::kF32, {2, 0, 3});
  const auto op = OpMaker("Relu", 14).input(type).output(type).make();
  SLUICE_ASSERT_OK(op);
  SLUICE_REQUIRE_SUPPORT(*op);
  const auto results = run_once(plugin, *op, std::vector<Tensor>{{type, {}}});
  SLUICE_ASSERT_OK(results);
  EXPECT_TRUE((*results)[0].bytes.empty());
}

TEST_P(Operations, Scalars) {
  const ir::Type type = tensor_type(ElementType::kF32, {});
  const auto op = OpMaker("Relu", 14).input(type).output(type).make();
  SLUICE_ASSERT_OK(op);
  SLUICE_REQUIRE_SUPPORT(*op);
  const auto in = Tensor::of(ElementType::kF32, {}, std::vector<double>{-3});
  const auto results = run_once(plugin, *op, std::vector<Tensor>{in});
  SLUICE_ASSERT_OK(results);
  EXPECT_EQ((*results)[0].values(), std::vector<double>{0});
}

// ---- element-wise results -----------------------------------------------------------------------

struct Unary {
  const char* kind;
  int version;
  double (*exact)(double);
  double low, high;  ///< of the inputs
};

constexpr Unary kUnary[] = {
    {"Relu", 14, [](double x) { return std::max(x, 0.0); }, -5, 5},
    {"Abs", 13, [](double x) { return std::abs(x); }, -5, 5},
    {"Neg", 13, [](double x) { return -x; }, -5, 5},
    {"Sqrt", 13, [](double x) { return std::sqrt(x); }, 0, 100},
    {"Exp", 13, [](double x) { return std::exp(x); }, -8, 8},
    {"Log", 13, [](double x) { return std::log(x); }, 0.01, 100},
    {"Tanh", 13, [](double x) { return std::tanh(x); }, -6, 6},
    {"Sigmoid", 13, [](double x) { return 1 / (1 + std::exp(-x)); }, -10, 10},
    {"Erf", 13, [](double x) { return std::erf(x); }, -4, 4},
    {"Floor", 13, [](double x) { return std::floor(x); }, -5, 5},
    {"Ceil", 13, [](double x) { return std::ceil(x); }, -5, 5},
    {"Round", 11, [](double x) { return std::nearbyint(x); }, -5, 5},
    {"Reciprocal", 13, [](double x) { return 1 / x; }, 0.1, 10},
};

struct Binary {
  const char* kind;
  int version;
  double (*exact)(double, double);
};

constexpr Binary kBinary[] = {
    {"Add", 14, [](double a, double b) { return a + b; }},
    {"Sub", 14, [](double a, double b) { return a - b; }},
    {"Mul", 14, [](double a, double b) { return a * b; }},
    {"Div", 14, [](double a, double b) { return a / b; }},
    {"Max", 13, [](double a, double b) { return std::max(a, b); }},
    {"Min", 13, [](double a, double b) { return std::min(a, b); }},
    {"Pow", 15, [](double a, double b) { return std::pow(a, b); }},
};

constexpr ElementType kTypes[] = {ElementType::kF32,  ElementType::kF64, ElementType::kF16,
                                  ElementType::kBf16, ElementType::kI8,  ElementType::kI32,
                                  ElementType::kI64};

std::vector<double> spread(std::int64_t count, double low, double high) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(low + (high - low) * static_cast<double>(i) / static_cast<double>(count - 1));
  }
  return values;
}

/// Integers are rounded towards zero.
double in_type(ElementType type, double value) {
  return ir::is_integer(type) ? std::trunc(value) : value;
}

void expect_close(const Tensor& actual, const std::vector<double>& exact, const std::string& what) {
  const ElementType type = actual.type.element();
  const std::vector<double> values = actual.values();
  ASSERT_EQ(values.size(), exact.size()) << what;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    ASSERT_TRUE(is_close(values[i], exact[i], tolerance_of(type)))
        << what << "[" << i << "] is " << values[i] << ", exactly " << exact[i];
  }
}

/// Runs `op` if the plug-in supports it. Counts what ran.
void run_and_compare(const std::shared_ptr<const Backend>& plugin, const Result<Op>& op,
                     const std::vector<Tensor>& inputs, const std::vector<double>& exact,
                     const std::string& what, int& num_run) {
  SLUICE_ASSERT_OK(op);
  const auto support = plugin->query(*op);
  SLUICE_ASSERT_OK(support);
  if (!support->is_supported) return;
  const auto results = run_once(plugin, *op, inputs);
  SLUICE_ASSERT_OK(results);
  expect_close((*results)[0], exact, what);
  ++num_run;
}

std::string label(const char* kind, ElementType type) {
  return fmt::format("{} of {}", kind, ir::element_type_name(type));
}

TEST_P(Operations, UnaryResultsAreWithinTolerance) {
  int num_run = 0;
  for (const Unary& unary : kUnary) {
    for (const ElementType type : kTypes) {
      const Tensor x = Tensor::of(type, {7, 13}, spread(91, unary.low, unary.high));
      std::vector<double> exact;
      for (const double value : x.values()) exact.push_back(in_type(type, unary.exact(value)));
      const auto op = OpMaker(unary.kind, unary.version).input(x.type).output(x.type).make();
      run_and_compare(plugin, op, {x}, exact, label(unary.kind, type), num_run);
    }
  }
  if (num_run == 0) GTEST_SKIP() << "none of these operators is supported";
}

TEST_P(Operations, BinaryResultsAreWithinToleranceAndBroadcast) {
  int num_run = 0;
  for (const Binary& binary : kBinary) {
    for (const ElementType type : kTypes) {
      const Tensor a = Tensor::of(type, {3, 1, 5}, spread(15, 1, 8));
      const Tensor b = Tensor::of(type, {4, 1}, std::vector<double>{1, 2, 1, 2});
      std::vector<double> exact;
      for (std::size_t i = 0; i < 60; ++i) {
        const double right = b.values()[i / 5 % 4];
        exact.push_back(in_type(type, binary.exact(a.values()[i / 20 * 5 + i % 5], right)));
      }
      const auto op = OpMaker(binary.kind, binary.version)
                          .input(a.type)
                          .input(b.type)
                          .output(tensor_type(type, {3, 4, 5}))
                          .make();
      run_and_compare(plugin, op, {a, b}, exact, label(binary.kind, type), num_run);
    }
  }
  if (num_run == 0) GTEST_SKIP() << "none of these operators is supported";
}

}  // namespace
}  // namespace sluice::conformance
