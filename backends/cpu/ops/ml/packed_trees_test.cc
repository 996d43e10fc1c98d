// Trees in a table, packed and not.
#include "ops/ml/packed_trees.h"

#include <gtest/gtest.h>

#include <cmath>

#include "reference/kernels.h"
#include "testing/test_support.h"
#include "testing/tree_testing.h"

namespace sluice::cpu {
namespace {

constexpr std::int64_t kFeatures = 5;

/// Quarters, as splits are, so that equality happens; and some NaN.
template <typename T>
std::vector<T> features_of(std::int64_t rows) {
  std::vector<T> x;
  for (const float value : random_floats(rows * kFeatures, 7)) {
    x.push_back(value > 0.9F ? NAN : std::round(value * 5) / 4);
  }
  return x;
}

/// What the reference kernel makes of the table.
std::vector<float> expected(TestOp op) {
  std::unique_ptr<plugin::HostKernel> made;
  EXPECT_TRUE(reference::make_kernel(op.op(), &made).is_ok());
  std::vector<sluice_tensor> inputs, outputs;
  for (const auto& input : plugin::inputs_of(op.op())) inputs.push_back(input.tensor);
  for (const auto& output : plugin::outputs_of(op.op())) outputs.push_back(output.tensor);
  const Status status = made->run(plugin::Call(op.op(), inputs, outputs, {}, nullptr));
  EXPECT_TRUE(status.is_ok()) << status.text;
  return op.result();
}

template <typename T>
void expect_agreement(std::int64_t trees, int depth, std::int64_t targets, std::int64_t rows) {
  const TestForest forest(trees, depth, kFeatures, targets, 3);
  const std::vector<T> x = features_of<T>(rows);
  const std::vector<float> want = expected(forest.op(x, rows));
  for (const Backend& backend : backends_to_test()) {
    TestOp plain = forest.op(x, rows);
    ASSERT_TRUE(plain.run(backend, 2).is_ok());
    TestOp op = forest.op(x, rows);
    const auto bytes = packed_trees_of(op.op());
    op.packed_input(kTreesInput, bytes.data(), packed_trees_bytes(plain.op()));
    const Status status = op.run(backend, 2);
    ASSERT_TRUE(status.is_ok()) << status.text;
    EXPECT_EQ(op.result(), plain.result());
    for (std::size_t i = 0; i < want.size(); ++i) {
      ASSERT_NEAR(op.result()[i], want[i], 1e-4) << trees << " trees of " << depth << " at " << i;
    }
  }
}

TEST(PackedTrees, ComputeWhatTheTableSays) {
  for (const std::int64_t rows : {1, 7, 11, 15, 40}) {
    for (const int depth : {0, 1, 4}) {
      for (const std::int64_t trees : {1, 8, 13}) {
        expect_agreement<float>(trees, depth, 1, rows);
        expect_agreement<double>(trees, depth, 3, rows);
      }
    }
  }
}

/// A package is outside input: whatever a byte becomes, the kernel refuses or reads its own lists.
/// The address sanitizer is the judge of the latter.
TEST(PackedTrees, AlteredByteIsRefusedOrStaysInside) {
  const TestForest forest(3, 2, kFeatures, 2, 1);
  const std::vector<double> x = features_of<double>(9);
  const Backend backend;
  TestOp op = forest.op(x, 9);
  const std::int64_t size = packed_trees_bytes(op.op());
  const auto whole = packed_trees_of(op.op());
  int refused = 0;
  for (std::int64_t at = 0; at < size; ++at) {
    for (const int bits : {0x01, 0x80, 0xFF}) {
      auto bytes = whole;
      reinterpret_cast<std::uint8_t*>(bytes.data())[at] ^= static_cast<std::uint8_t>(bits);
      const Status status = op.packed_input(kTreesInput, bytes.data(), size).run(backend, 1);
      if (status.is_ok()) continue;
      ASSERT_EQ(status.code, SLUICE_INVALID_ARGUMENT) << status.text;
      ++refused;
    }
  }
  EXPECT_GT(refused, size);  // most bytes are those of indices
  op.packed_input(kTreesInput, whole.data(), size - 8);
  EXPECT_EQ(op.run(backend, 1).code, SLUICE_INVALID_ARGUMENT);
}

TEST(PackedTrees, TableThatIsNotWhatItPromisesIsRefused) {
  TestForest forest(2, 2, kFeatures, 1, 1);
  forest.rows[3] = 0;  // a root that is its own child
  TestOp op = forest.op(features_of<float>(1), 1);
  const auto bytes = packed_trees_of(op.op());
  op.packed_input(kTreesInput, bytes.data(), packed_trees_bytes(op.op()));
  const Status status = op.run(Backend(), 1);
  EXPECT_EQ(status.code, SLUICE_INVALID_ARGUMENT) << status.text;
}

TEST(CpuTrees, ScoresOfAnotherShapeAreRefused) {
  const TestForest forest(2, 2, kFeatures, 3, 1);
  TestOp op = forest.op(features_of<float>(1), 1);
  op.attribute("classlabels_int64s", Shape{1, 2, 3, 4, 5});  // five targets for three scores
  EXPECT_EQ(op.run(Backend(), 1).code, SLUICE_INVALID_ARGUMENT);
}

/// Splits of more bits than the features once met keys of another kind.
TEST(CpuTrees, SplitsThatAreNoFloatsDivideFloats) {
  TestForest forest(9, 3, kFeatures, 1, 5);
  for (std::size_t row = 0; row < forest.rows.size(); row += 5) {
    if (forest.rows[row] < 6) forest.rows[row + 2] /= 10;
  }
  std::vector<float> x = features_of<float>(24);
  for (float& value : x) value /= 10;
  TestOp op = forest.op(x, 24);
  const Status status = op.run(Backend(), 1);
  ASSERT_TRUE(status.is_ok()) << status.text;
  EXPECT_EQ(op.result(), expected(forest.op(x, 24)));
}

}  // namespace
}  // namespace sluice::cpu
