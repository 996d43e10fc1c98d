// Trees in a table, which a package brings: whatever it says, no read leaves it.
#include <gtest/gtest.h>

#include <cmath>

#include "reference/testing/test_tensors.h"

namespace sluice::reference {
namespace {

using Doubles = std::vector<double>;
using Floats = std::vector<float>;

constexpr double kLeaf = 7;

/// A stump of two weights per leaf, and a leaf.
const Doubles kTable = {
    1,     1, 0.5, 1, 1,  // feature 1 < 0.5, or NaN: row 1, else row 2
    kLeaf, 0, 10,  0, 0,  //
    kLeaf, 0, 20,  1, 0,  //
    kLeaf, 1, 5,   2, 0,  // the second tree
    kLeaf, 1, 11,  0, 0,  // further weights
    kLeaf, 1, 21,  0, 0,  //
    kLeaf, 0, 6,   0, 0,
};

std::string run(const Doubles& table, Floats* result, std::int64_t weights = 2) {
  TestTensor y({3, 2}, Floats(6));
  const TestTensor x({3, 2}, Floats{9, 0, 9, 0.5, 9, NAN});
  const auto rows = static_cast<std::int64_t>(table.size()) / 5;
  const std::string error = TestOp("TreeRegressor", "sluice")
                                .with("roots", {0, 3})
                                .with("num_nodes", 4)
                                .with("num_features", 2)
                                .with("leaf_weights", weights)
                                .with("n_targets", 2)
                                .run({x, TestTensor({rows, 5}, table)}, y);
  *result = y.values<float>();
  return error;
}

TEST(TreeTable, RowsAreNodesAndFurtherWeights) {
  Floats y;
  EXPECT_EQ(run(kTable, &y), "");
  EXPECT_EQ(y, (Floats{16, 16, 26, 26, 16, 16}));
}

TEST(TreeTable, NumbersThatAreNoNodesAreRefused) {
  constexpr std::size_t kTest = 0, kFeature = 1, kChild = 3, kTarget = 6, kMore = 8;
  for (const std::size_t place : {kTest, kFeature, kChild, kTarget, kMore}) {
    for (const double value : {-1.0, 1e300, double{INFINITY}, double{NAN}, 6.0}) {
      Doubles table = kTable;
      table[place] = value;
      Floats y;
      EXPECT_NE(run(table, &y).find("is no node"), std::string::npos) << place << ": " << value;
    }
  }
  Doubles table = kTable;
  table[kChild] = 0;  // its own parent
  Floats y;
  EXPECT_NE(run(table, &y), "");
}

TEST(TreeTable, RowsThatAreMissingAreRefused) {
  Floats y;
  EXPECT_NE(run(Doubles(kTable.begin(), kTable.begin() + 15), &y), "");
  EXPECT_NE(run(kTable, &y, 5), "");
  EXPECT_NE(run(kTable, &y, 0), "");
}

}  // namespace
}  // namespace sluice::reference
