// Element-wise kernels on types other than f32, and bodies of many constants.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "testing/op_testing.h"
#include "testing/test_support.h"

namespace sluice::cpu {
namespace {

using Floats = std::vector<float>;
using Bools = std::vector<std::uint8_t>;

/// Fails if the operation falls back to the reference kernels.
void expect_native(TestOp& op, const Backend& backend) {
  std::unique_ptr<Kernel> kernel;
  const Status status = op.make(backend, &kernel);
  ASSERT_TRUE(status.is_ok()) << status.text;
  ASSERT_FALSE(kernel->is_serial());
  for (const int workers : {1, 3}) ASSERT_TRUE(op.run(*kernel, workers).is_ok());
}

TEST(CpuElementwise, BodyTakesManyConstants) {
  constexpr int kCount = 12;
  const Floats x = random_floats(3000, 1);
  for (const Backend& backend : backends_to_test()) {
    TestOp op("Elementwise", "sluice");
    op.body_input({3000}, x);
    for (int i = 0; i < kCount; ++i) op.body_constant(static_cast<float>(i));
    for (int i = 0; i < kCount; ++i) op.step("Add", {i == 0 ? 0 : kCount + i, 1 + i});
    op.output({3000});
    expect_native(op, backend);
    const Floats got = op.result();
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(got[i], x[i] + 66, 1e-4) << i;
  }
}

std::uint32_t in_place_inputs(TestOp& op) {
  std::unique_ptr<Kernel> kernel;
  const Status status = op.make(Backend(), &kernel);
  EXPECT_TRUE(status.is_ok()) << status.text;
  return status.is_ok() ? kernel->in_place_inputs() : 0;
}

TEST(CpuElementwise, ResultOverwritesOnlyWhatLiesAsItDoes) {
  const Floats one = random_floats(100, 1), four = random_floats(400, 2);
  for (const char* kind : {"Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Equal"}) {
    TestOp first(kind), second(kind);  // the result has as many bytes as the operand of 100
    first.input({100}, one).input({4, 100}, four).output<std::uint8_t>({4, 100});
    second.input({4, 100}, four).input({100}, one).output<std::uint8_t>({4, 100});
    for (TestOp* op : {&first, &second}) {
      op->set_output_type(0, plugin::kBool);
      EXPECT_EQ(in_place_inputs(*op), 0U) << kind;
    }
  }
  TestOp sum("Add");
  sum.input({4, 100}, four).input({100}, one).output({4, 100});
  EXPECT_EQ(in_place_inputs(sum), 1U);
  TestOp wider("Mul");
  wider.input({100}, one).input({1, 100}, one).output({1, 100});
  EXPECT_EQ(in_place_inputs(wider), 3U);
}

TEST(CpuElementwise, BodyOfSlowStepsIsRefused) {
  TestOp op("Elementwise", "sluice");
  op.body_input<std::int64_t>({4}, {1, 2, 3, 4}).step("Neg", {0}).output<std::int64_t>({4});
  sluice_op_support support = {};
  EXPECT_EQ(Backend().query(op.op(), &support).code, SLUICE_UNIMPLEMENTED);
}

TEST(CpuElementwise, WhereTakesBroadcastConditions) {
  const Bools mask = {1, 0, 1};
  const Floats x = {1, 2, NAN, 4, 5, 6}, y = {-1};
  for (const Backend& backend : backends_to_test()) {
    TestOp op("Where");
    op.input<std::uint8_t>({1, 3}, mask).input({2, 3}, x).input({1}, y).output({2, 3});
    op.set_input_type(0, plugin::kBool);
    expect_native(op, backend);
    const Floats got = op.result();
    EXPECT_TRUE(std::isnan(got[2]));
    EXPECT_EQ((Floats{got[0], got[1], got[3], got[4], got[5]}), (Floats{1, -1, 4, -1, 6}));
  }
}

TEST(CpuElementwise, ComparisonGivesBools) {
  const Floats x = random_floats(2 * 2500, 3);
  for (const Backend& backend : backends_to_test()) {
    TestOp op("GreaterOrEqual");
    op.input({2, 2500}, x).input({2, 1}, {0.25F, -0.25F}).output<std::uint8_t>({2, 2500});
    op.set_output_type(0, plugin::kBool);
    expect_native(op, backend);
    const Bools got = op.result<std::uint8_t>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(got[i], x[i] >= (i < 2500 ? 0.25F : -0.25F) ? 1 : 0) << i;
    }
  }
}

TEST(CpuElementwise, IntegersAreComparedToSmallNumbers) {
  const std::vector<std::int64_t> tokens = {0, 1, std::int64_t{1} << 60, -1, 1 << 24};
  for (const Backend& backend : backends_to_test()) {
    TestOp op("Equal");
    op.input<std::int64_t>({5}, tokens).input<std::int64_t>({1}, {1}, true);
    op.output<std::uint8_t>({5});
    op.set_output_type(0, plugin::kBool);
    expect_native(op, backend);
    EXPECT_EQ(op.result<std::uint8_t>(), (Bools{0, 1, 0, 0, 0}));
  }
}

TEST(CpuElementwise, CastsBetweenFloatsAndIntegers) {
  for (const Backend& backend : backends_to_test()) {
    TestOp to_bytes("Cast");
    to_bytes.input({4}, {-1.5F, 2.5F, 300, 7}).attribute("to", std::int64_t{plugin::kU8});
    to_bytes.output<std::uint8_t>({4});
    expect_native(to_bytes, backend);
    EXPECT_EQ(to_bytes.result<std::uint8_t>(), (Bools{255, 2, 44, 7}));

    TestOp to_floats("Cast");
    to_floats.input<std::int64_t>({3}, {-5, 0, 1 << 20});
    to_floats.attribute("to", std::int64_t{plugin::kF32}).output({3});
    expect_native(to_floats, backend);
    EXPECT_EQ(to_floats.result(), (Floats{-5, 0, 1 << 20}));
  }
}

TEST(CpuElementwise, ThresholdsIgnoreNan) {
  for (const Backend& backend : backends_to_test()) {
    TestOp op("ThresholdedRelu");
    op.input({4}, {NAN, 0.4F, 0.6F, -1}).attribute("alpha", 0.5F).output({4});
    expect_native(op, backend);
    EXPECT_EQ(op.result(), (Floats{0, 0, 0.6F, 0}));
  }
}

TEST(CpuElementwise, ShrinkMovesWhatIsFarFromZero) {
  for (const Backend& backend : backends_to_test()) {
    TestOp op("Shrink");
    op.input({6}, {-2, -1, 0.5F, 1, 3, NAN}).attribute("lambd", 1.0F).attribute("bias", 0.5F);
    op.output({6});
    expect_native(op, backend);
    EXPECT_EQ(op.result(), (Floats{-1.5F, 0, 0, 0, 2.5F, 0}));
  }
}

TEST(CpuElementwise, CeluIsSmoothBelowZero) {
  for (const Backend& backend : backends_to_test()) {
    TestOp op("Celu");
    op.input({3}, {-2, 0, 3}).attribute("alpha", 2.0F).output({3});
    expect_native(op, backend);
    const Floats got = op.result();
    EXPECT_NEAR(got[0], 2 * std::expm1(-1.0), 1e-6);
    EXPECT_EQ(got[1], 0);
    EXPECT_NEAR(got[2], 3, 1e-6);
  }
}

TEST(CpuElementwise, InfinitiesOfEitherSignAreFound) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const Backend& backend : backends_to_test()) {
    for (const std::int64_t negative : {0, 1}) {
      for (const std::int64_t positive : {0, 1}) {
        if (negative + positive == 0) continue;
        TestOp op("IsInf");
        op.input({4}, {-kInfinity, kInfinity, NAN, 3e38F}).output<std::uint8_t>({4});
        op.attribute("detect_negative", negative).attribute("detect_positive", positive);
        op.set_output_type(0, plugin::kBool);
        expect_native(op, backend);
        const auto as_byte = [](std::int64_t x) { return static_cast<std::uint8_t>(x); };
        EXPECT_EQ(op.result<std::uint8_t>(), (Bools{as_byte(negative), as_byte(positive), 0, 0}));
      }
    }
  }
}

}  // namespace
}  // namespace sluice::cpu
