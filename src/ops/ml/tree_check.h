// What a tree ensemble's lists must satisfy, whichever of ONNX's two forms they come in.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ops/inference.h"

namespace sluice::ops {

/// What nodes of TreeEnsembleRegressor and TreeEnsembleClassifier may ask, in the order of
/// TreeEnsemble's numbers, and the mode of leaves.
inline constexpr std::array<std::string_view, 7> kTreeModes = {
    "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "LEAF"};

/// Nodes by their place in the lists.
struct TreeLinks {
  static constexpr std::int64_t kLeaf = -1;
  struct Children {
    std::int64_t on_true = kLeaf, on_false = kLeaf;
  };
  std::vector<Children> children;
  std::vector<std::int64_t> roots;
};

/// No node is its own descendant. Nodes may share a child: converters write sets of categories so.
/// Requires: children are places in the list, or kLeaf twice. Time: linear.
/// Fails:    kInvalidArgument naming a node on a cycle.
Status check_acyclic(const InferenceContext& context, const TreeLinks& links);

/// Columns of the table of sluice::TreeRegressor and sluice::TreeClassifier, and the most features
/// that its branches may test.
inline constexpr std::int64_t kTreeColumns = 5;
inline constexpr std::int64_t kMaxTreeFeatures = std::int64_t{1} << 20;

/// Attribute `base_values` has one entry, one per target, or none.
Status check_base_values(const InferenceContext& context, std::int64_t num_targets);

/// Reads the lists of TreeEnsembleRegressor and TreeEnsembleClassifier, which name nodes by tree
/// and number; `weights` is "target" or "class", the prefix of the lists of leaf weights.
/// Every list has its length, every id exists, every feature is below `columns`.
/// Fails: kInvalidArgument naming the list, the entry and its value.
Status check_named_trees(const InferenceContext& context, const std::string& weights,
                         std::int64_t num_targets, const ir::Dim& columns);

/// As above for the lists of TreeEnsemble, which name nodes and leaves by their place.
Status check_placed_trees(const InferenceContext& context, std::int64_t num_targets,
                          const ir::Dim& columns);

}  // namespace sluice::ops
