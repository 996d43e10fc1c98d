#pragma once

#include <random>
#include <vector>

#include "ops/ml/packed_trees.h"
#include "testing/op_testing.h"

namespace sluice::cpu {

/// The table of a forest of full trees, as src/ops/ml/trees.cc describes it.
struct TestForest {
  std::vector<double> rows;
  Shape roots;
  std::int64_t num_nodes = 0;
  std::int64_t features = 0;
  std::int64_t targets = 1;
  std::int64_t leaf_weights = 1;  ///< for the targets from 0 on

  /// Trees of `depth` levels below their roots; splits are quarters.
  TestForest(std::int64_t num_trees, int depth, std::int64_t num_features, std::int64_t num_targets,
             unsigned seed)
      : features(num_features), targets(num_targets), leaf_weights(num_targets) {
    std::mt19937 random(seed);
    const auto below = [&](std::int64_t limit) {
      return static_cast<double>(random() % static_cast<unsigned>(limit));
    };
    const std::int64_t size = (std::int64_t{2} << depth) - 1;
    num_nodes = num_trees * size;
    std::vector<double> further;
    for (std::int64_t i = 0; i < num_nodes; ++i) {
      const std::int64_t in_tree = i % size;
      if (in_tree == 0) roots.push_back(i);
      if (2 * in_tree + 1 < size) {
        const auto child = static_cast<double>(i - in_tree + 2 * in_tree + 1);
        add(rows, {below(6), below(features), below(9) / 4 - 1, child, below(2)});
        continue;
      }
      const std::size_t row = further.size() / 5;
      const auto more = static_cast<double>(row);
      for (std::int64_t t = 0; t < targets; ++t) {
        add(t == 0 ? rows : further, {7, static_cast<double>(t), below(100) / 64, more, 0});
      }
    }
    rows.insert(rows.end(), further.begin(), further.end());
  }

  /// TreeRegressor of features x, `count` rows of them.
  template <typename T>
  TestOp op(const std::vector<T>& x, std::int64_t count) const {
    TestOp op("TreeRegressor", "sluice", 1);
    op.input<T>({count, features}, x);
    op.input<double>({static_cast<std::int64_t>(rows.size()) / 5, 5}, rows, true);
    op.output({count, targets}).attribute("roots", roots).attribute("num_nodes", num_nodes);
    op.attribute("num_features", features).attribute("leaf_weights", leaf_weights);
    op.attribute("n_targets", targets).attribute("aggregate_function", "SUM");
    op.attribute("post_transform", "NONE");
    return op;
  }

 private:
  static void add(std::vector<double>& to, std::initializer_list<double> row) {
    to.insert(to.end(), row);
  }
};

/// The packed form of the operation's trees, aligned for its largest elements.
inline std::vector<std::uint64_t> packed_trees_of(const sluice_op& op) {
  std::vector<std::uint64_t> bytes(static_cast<std::size_t>(packed_trees_bytes(op) + 7) / 8);
  pack_trees(op, bytes.data());
  return bytes;
}

}  // namespace sluice::cpu
