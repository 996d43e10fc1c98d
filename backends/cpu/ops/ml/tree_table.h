// Tree ensembles laid out for walking: see kernels/ml/trees.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/ml/trees.h"
#include "reference/kernels/ml/ensemble.h"

namespace sluice::cpu {

using plugin::Status;

/// What a table of trees says beside its lists.
struct TreeFacts {
  std::size_t num_empty = 0;  ///< trees of one empty leaf, the first ones
  bool has_rows = false;
  reference::TreeRules rules;
  std::uint32_t child_shift = 0;
  bool is_flagged = false;
};

/// The part of `splits` that belongs to one feature.
inline std::span<const double> splits_of(std::span<const double> splits,
                                         std::span<const std::uint32_t> ends, std::size_t feature) {
  const std::uint32_t begin = feature == 0 ? 0 : ends[feature - 1];
  return splits.subspan(begin, ends[feature] - begin);
}

/// Trees in the order of their depth, behind trees of one empty leaf that pad them to whole lanes.
/// Borrows its lists.
///
/// A leaf's weights: where each tree speaks of one target, `values[node]` is the weight and
/// `targets[tree]` the target; else `values[node]` is the number of a row of `rows`, which holds
/// `num_targets` weights.
struct TreeView : TreeFacts {
  std::span<const std::uint64_t> nodes;
  std::span<const std::uint32_t> values;  ///< bits of a float, or a row
  std::span<const std::uint32_t> roots;
  std::span<const std::int32_t> depths;
  std::span<const std::int32_t> targets;
  std::span<const float> rows;
  std::span<const std::uint8_t> has_score;  ///< per target
  /// Columns of X that a node tests: a node names its feature by the place here.
  std::span<const std::int32_t> columns;
  /// If X is f64: the splits of these columns in ascending order, one feature's behind the other's,
  /// and where those of each end. Else empty.
  std::span<const double> splits;
  std::span<const std::uint32_t> split_ends;

  std::int64_t num_features() const { return static_cast<std::int64_t>(columns.size()); }
  std::int64_t num_trees() const { return static_cast<std::int64_t>(roots.size()); }
  TreeNodes walk() const {
    return {nodes.data(), (std::uint32_t{1} << child_shift) - 4, child_shift, is_flagged};
  }
};

/// The same with lists of its own.
struct TreeTable : TreeFacts {
  std::vector<std::uint64_t> nodes;
  std::vector<std::uint32_t> values;
  std::vector<std::uint32_t> roots;
  std::vector<std::int32_t> depths;
  std::vector<std::int32_t> targets;
  std::vector<float> rows;
  std::vector<std::uint8_t> has_score;
  std::vector<std::int32_t> columns;
  std::vector<double> splits;
  std::vector<std::uint32_t> split_ends;

  /// Valid until the table changes; moving it keeps the lists where they are.
  TreeView view() const {
    return {*this, nodes,     values,  roots,  depths,    targets,
            rows,  has_score, columns, splits, split_ends};
  }

  /// Fails: SLUICE_UNIMPLEMENTED for what only the reference kernel does: membership, least and
  ///        largest, targets that some rows get no weight of, ensembles past the packed format.
  ///        `is_double` if X is f64.
  static Status make(const reference::Ensemble& ensemble, std::int64_t columns, bool is_double,
                     TreeTable* table);
};

}  // namespace sluice::cpu
