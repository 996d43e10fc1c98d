// The lists of a tree ensemble as the table of sluice::TreeRegressor and sluice::TreeClassifier,
// whose rows src/ops/ml/trees.cc describes.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"

namespace sluice::passes {

struct TreeRows {
  std::vector<double> values;       ///< [rows][ops::kTreeColumns]
  std::vector<std::int64_t> roots;  ///< rows
  std::int64_t num_nodes = 0;       ///< further weights of leaves follow them
  std::int64_t num_features = 1;    ///< the largest that a node tests, and 1
  std::int64_t leaf_weights = 0;    ///< of each leaf
};

/// Rows of the nodes that a root reaches; children stand behind their parents, side by side.
///
/// Requires: a TreeEnsembleRegressor or TreeEnsembleClassifier with lists that its shape function
///           accepts.
/// Fails:    kUnimplemented for an irregular ensemble: nodes share a child, leaves of one tree name
///           different targets, leaves have no weight or not equally many, a weight belongs to no
///           leaf that a root reaches, or a split is no f32 while X, of type `element`, is not f64.
Result<TreeRows> read_tree_rows(const ir::Operation& operation, ir::ElementType element);

}  // namespace sluice::passes
