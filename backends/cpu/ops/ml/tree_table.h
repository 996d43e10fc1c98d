// Tree ensembles laid out for walking: see kernels/ml/trees.h.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/ml/trees.h"
#include "reference/kernels/ml/ensemble.h"

namespace sluice::cpu {

using plugin::Status;

/// Trees in the order of their depth, behind trees of one empty leaf that pad them to whole lanes.
///
/// A leaf's weights: where each tree speaks of one target, `values[node]` is the weight and
/// `targets[tree]` the target; else `values[node]` is the number of a row of `rows`, which holds
/// `num_targets` weights.
struct TreeTable {
  std::vector<std::uint64_t> nodes;
  std::vector<std::uint32_t> roots;
  std::vector<int> depths;
  std::size_t num_empty = 0;  ///< trees of one empty leaf, the first ones
  bool has_rows = false;
  std::vector<std::uint32_t> values;  ///< bits of a float, or a row
  std::vector<std::int32_t> targets;
  std::vector<float> rows;
  std::vector<std::uint8_t> has_score;  ///< per target
  reference::TreeRules rules;
  std::uint32_t feature_mask = 0;
  std::uint32_t child_shift = 0;
  bool is_flagged = false;
  /// Columns of X that a node tests: a node names its feature by the place here.
  std::vector<std::int32_t> columns;
  /// Splits of each of these in ascending order if X is f64; else empty.
  std::vector<std::vector<double>> splits;

  std::int64_t num_features() const { return static_cast<std::int64_t>(columns.size()); }
  /// What nodes compare of a feature that has this value: `tree_key`, or a place among `splits`.
  std::int32_t key_of(std::size_t feature, double value) const;

  TreeNodes view() const { return {nodes.data(), feature_mask, child_shift, is_flagged}; }
  std::int64_t num_trees() const { return static_cast<std::int64_t>(roots.size()); }

  /// Fails: SLUICE_UNIMPLEMENTED for what only the reference kernel does: membership, least and
  ///        largest, targets that some rows get no weight of, ensembles past the packed format.
  ///        `is_double` if X is f64.
  static Status make(const reference::Ensemble& ensemble, std::int64_t columns, bool is_double,
                     TreeTable* table);
};

}  // namespace sluice::cpu
