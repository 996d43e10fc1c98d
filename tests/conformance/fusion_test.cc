// Fused bodies against the same steps one by one, and packed constants against plain ones.
#include <cmath>

#include "conformance/fixture.h"
#include "support/tolerance.h"

namespace sluice::conformance {
namespace {

using ir::ElementType;

class Fusion : public Conformance {
 protected:
  /// Runs one operation; the test is skipped if it is not supported.
  void run(const Result<Op>& op, const std::vector<Tensor>& inputs, Tensor& result) {
    SLUICE_ASSERT_OK(op);
    SLUICE_REQUIRE_SUPPORT(*op);
    auto results = run_once(plugin, *op, inputs);
    SLUICE_ASSERT_OK(results);
    result = results->front();
  }
};
SLUICE_INSTANTIATE_FOR_PLUGINS(Fusion);

constexpr std::int64_t kM = 9;
constexpr std::int64_t kK = 33;
constexpr std::int64_t kN = 21;

Tensor wave(std::vector<std::int64_t> dims, std::int64_t count, double frequency) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(std::sin(frequency * static_cast<double>(i)));
  }
  return Tensor::of(ElementType::kF32, std::move(dims), values);
}

ir::Constant constant_of(const Tensor& tensor) { return {tensor.type, Bytes::own(tensor.bytes)}; }

void expect_close(const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(actual.values().size(), expected.values().size());
  for (std::size_t i = 0; i < actual.values().size(); ++i) {
    ASSERT_TRUE(testing::is_close(actual.values()[i], expected.values()[i], {1e-5, 1e-5}))
        << "[" << i << "] is " << actual.values()[i] << ", step by step " << expected.values()[i];
  }
}

#define SLUICE_RUN(...)                           \
  do {                                            \
    run(__VA_ARGS__);                             \
    if (IsSkipped() || HasFatalFailure()) return; \
  } while (false)

TEST_P(Fusion, BodyOfAProductEqualsItsSteps) {
  const Tensor a = wave({kM, kK}, kM * kK, 0.7);
  const Tensor b = wave({kK, kN}, kK * kN, 1.3);
  const Tensor bias = wave({kN}, kN, 0.4);
  const Tensor other = wave({kM, kN}, kM * kN, 0.9);
  const ir::Type y = tensor_type(ElementType::kF32, {kM, kN});
  Tensor product, sum, scaled, expected, fused;
  SLUICE_RUN(OpMaker("MatMul").input(a.type).constant(constant_of(b)).output(y).make(), {a},
             product);
  SLUICE_RUN(OpMaker("Add", 14).input(y).input(bias.type).output(y).make(), {product, bias}, sum);
  SLUICE_RUN(OpMaker("Mul", 14).input(y).input(y).output(y).make(), {sum, other}, scaled);
  SLUICE_RUN(OpMaker("Relu", 14).input(y).output(y).make(), {scaled}, expected);
  SLUICE_RUN(OpMaker("MatMul")
                 .input(a.type)
                 .constant(constant_of(b))
                 .output(y)
                 .body_input(other.type)
                 .body_constant(constant_of(bias))
                 .step("Add", 14, {0, 2})
                 .step("Mul", 14, {3, 1})
                 .step("Relu", 14, {4})
                 .make(),
             {a, other}, fused);
  expect_close(fused, expected);
}

TEST_P(Fusion, ElementwiseEqualsItsSteps) {
  const Tensor a = wave({2, 3, 5}, 30, 0.7);
  const Tensor b = wave({3, 1}, 3, 1.3);
  Tensor sum, expected, fused;
  SLUICE_RUN(OpMaker("Add", 14).input(a.type).input(b.type).output(a.type).make(), {a, b}, sum);
  SLUICE_RUN(OpMaker("Relu", 14).input(a.type).output(a.type).make(), {sum}, expected);
  SLUICE_RUN(OpMaker("Elementwise", 1, "sluice")
                 .output(a.type)
                 .body_input(a.type)
                 .body_input(b.type)
                 .step("Add", 14, {0, 1})
                 .step("Relu", 14, {2})
                 .make(),
             {a, b}, fused);
  expect_close(fused, expected);
}

TEST_P(Fusion, PackedConstantsGiveTheSameResult) {
  const Tensor a = wave({kM, kK}, kM * kK, 0.7);
  const Tensor b = wave({kK, kN}, kK * kN, 1.3);
  const ir::Type y = tensor_type(ElementType::kF32, {kM, kN});
  OpMaker maker("MatMul");
  maker.input(a.type).constant(constant_of(b)).output(y);
  Tensor plain, with_packed;
  SLUICE_RUN(maker.make(), {a}, plain);
  const auto op = maker.make();
  const auto packing = plugin->query_packing(*op, 1);
  SLUICE_ASSERT_OK(packing);
  if (!packing->has_value()) GTEST_SKIP() << "MatMul's constants are used as they are";
  std::vector<std::byte> once(static_cast<std::size_t>((*packing)->size_bytes), std::byte{1});
  std::vector<std::byte> twice(once.size(), std::byte{2});
  SLUICE_ASSERT_OK(plugin->pack(*op, 1, once));
  SLUICE_ASSERT_OK(plugin->pack(*op, 1, twice));
  EXPECT_EQ(once, twice) << "packing must write every byte";
  SLUICE_RUN(maker.packed(1, once).make(), {a}, with_packed);
  expect_close(with_packed, plain);
}

TEST_P(Fusion, PackingQueryRefusesInvalidInputs) {
  const ir::Type type = tensor_type(ElementType::kF32, {4});
  const auto op = OpMaker("Relu", 14).input(type).output(type).make();
  SLUICE_ASSERT_OK(op);
  EXPECT_FALSE(plugin->query_packing(*op, 1).is_ok());
  EXPECT_FALSE(plugin->query_packing(*op, -1).is_ok());
}

}  // namespace
}  // namespace sluice::conformance
