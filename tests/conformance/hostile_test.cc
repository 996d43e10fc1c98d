// Operations that contradict themselves are refused, when a kernel is made or when it runs: never a
// crash, never a read outside a buffer (the sanitizer builds see those).
//
// Shape functions stop most of these when compiling and again before every plan, so that a kernel
// may rely on them for shapes; `reference`, the oracle, does not. What comes from data nobody stops
// before: every plug-in checks that.
#include "conformance/hostile_cases.h"

namespace sluice::conformance {

HostileMaker& HostileMaker::input(ir::ElementType element, std::vector<std::int64_t> dims,
                                  std::vector<double> values) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  if (values.empty()) values.assign(static_cast<std::size_t>(count), 1.0);
  const ir::Type type = tensor_type(element, dims);
  op_.input(type);
  inputs_.push_back(Tensor::of(element, std::move(dims), values));
  return *this;
}

namespace {

class Hostile : public Conformance {
 protected:
  void skip_unless_oracle() {
    if (plugin->name() != "reference") {
      GTEST_SKIP() << plugin->name() << " may rely on shape functions for shapes";
    }
  }

  void expect_refused(const std::vector<HostileCase>& cases) {
    for (const HostileCase& hostile : cases) {
      const auto op = hostile.op.make();
      if (!op.is_ok()) continue;  // not even an operation
      const auto result = run_once(plugin, *op, hostile.inputs);
      EXPECT_FALSE(result.is_ok()) << hostile.claim;
      if (!result.is_ok()) {
        EXPECT_FALSE(result.status().message().empty()) << hostile.claim;
      }
    }
  }
};
SLUICE_INSTANTIATE_FOR_PLUGINS(Hostile);

TEST_P(Hostile, IndicesFromDataAreRefused) { expect_refused(hostile_indices()); }
TEST_P(Hostile, ShapesThatDoNotFitAreRefused) {
  skip_unless_oracle();
  if (!IsSkipped()) expect_refused(hostile_shapes());
}
TEST_P(Hostile, ImagesThatDoNotFitAreRefused) {
  skip_unless_oracle();
  if (!IsSkipped()) expect_refused(hostile_images());
}
TEST_P(Hostile, NetworksThatDoNotFitAreRefused) {
  skip_unless_oracle();
  if (!IsSkipped()) expect_refused(hostile_networks());
}

TEST_P(Hostile, DivisionOfTheLeastIntegerIsNoTrap) {
  const auto op = OpMaker("Div", 14)
                      .input(tensor_type(ir::ElementType::kI32, {1}))
                      .input(tensor_type(ir::ElementType::kI32, {1}))
                      .output(tensor_type(ir::ElementType::kI32, {1}))
                      .make();
  SLUICE_ASSERT_OK(op);
  SLUICE_REQUIRE_SUPPORT(*op);
  const std::vector<double> least = {-2147483648.0};
  const std::vector<double> minus_one = {-1};
  const std::vector<Tensor> inputs = {Tensor::of(ir::ElementType::kI32, {1}, least),
                                      Tensor::of(ir::ElementType::kI32, {1}, minus_one)};
  SLUICE_EXPECT_OK(run_once(plugin, *op, inputs));
}

}  // namespace
}  // namespace sluice::conformance
