// A tree ensemble in one form for all versions of the operators. Fast backends build their own
// layout from this form.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/kernels/ml/scores.h"

namespace sluice::reference {

/// What a node asks of its feature, in the order of TreeEnsemble's numbers.
enum class TreeTest : std::uint8_t {
  kLessEqual,
  kLess,
  kGreaterEqual,
  kGreater,
  kEqual,
  kNotEqual,
  kMember,
  kLeaf
};

struct TreeNode {
  double split = 0;
  std::int32_t feature = 0;
  std::int32_t on_true = 0, on_false = 0;  ///< places of nodes; unused by leaves
  TreeTest test = TreeTest::kLeaf;
  bool takes_missing = false;  ///< NaN counts as true
  /// A part of a list: a leaf's weights, or the members of a member test.
  std::int32_t first = 0, count = 0;
};

struct TreeWeight {
  std::int32_t target = 0;
  double weight = 0;
};

enum class TreeAggregate { kAverage, kSum, kMin, kMax };

/// How scores of trees become outputs.
struct TreeRules {
  std::int32_t num_targets = 1;
  std::int64_t num_trees = 0;
  TreeAggregate aggregate = TreeAggregate::kSum;
  ScoreTransform transform = ScoreTransform::kNone;
  std::vector<double> base_values;  ///< empty, one for all targets, or one per target
  bool is_classifier = false;
  bool has_one_class = false;  ///< two classes of which weights name one
  bool is_probability = true;  ///< no weight is negative

  /// Aggregated scores to final ones, in place; `has_score` tells which targets any leaf named.
  /// Gives the class of a classifier. Requires: num_targets of both. Allocates nothing.
  std::size_t finish(std::span<double> scores, std::span<const std::uint8_t> has_score) const;
};

struct Ensemble {
  std::vector<TreeNode> nodes;
  std::vector<std::int32_t> roots;
  std::vector<TreeWeight> weights;
  std::vector<double> members;
  TreeRules rules;
};

/// Reads how the operation's scores become outputs. What follows from the weights is left at its
/// default: `has_one_class` and `is_probability`; of lists, `num_trees` is 0.
TreeRules read_tree_rules(const sluice_op& op);

/// Reads TreeEnsemble, TreeEnsembleRegressor, TreeEnsembleClassifier, sluice::TreeRegressor or
/// sluice::TreeClassifier. The host has checked lengths, ids and the absence of cycles. The
/// function checks ids again, so every index in the result is inside its list. Fails:
/// SLUICE_INVALID_ARGUMENT, SLUICE_UNIMPLEMENTED past 2^31 nodes.
Status read_ensemble(const sluice_op& op, Ensemble* ensemble);

/// The leaf that a row of features ends in. Requires: every feature is inside the row.
const TreeNode& find_leaf(const Ensemble& ensemble, std::int32_t root, std::span<const double> row);

}  // namespace sluice::reference
