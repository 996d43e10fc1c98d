#include "ops/ml/tree_table.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace sluice::cpu {
namespace {

using plugin::unimplemented;
using reference::Ensemble;
using reference::TreeNode;
using reference::TreeTest;

constexpr std::uint32_t kNanLeft = 1;
constexpr std::uint32_t kEquality = 2;

/// A test as "x <= split, or x == split, goes left".
struct Test {
  std::int32_t split = 0;  ///< key
  std::uint32_t flags = 0;
  bool is_swapped = false;  ///< the left child is taken if the test fails
};

/// No key is less than or equal to this.
constexpr std::int32_t kNever = std::numeric_limits<std::int32_t>::min();

/// `key` is that of the node's split.
Test test_of(const TreeNode& node, std::int32_t key) {
  const std::int32_t split = key == kNanKey ? kNever : key;
  const std::int32_t before = split == kNever ? kNever : split - 1;
  Test test = {split, 0, false};
  switch (node.test) {
    case TreeTest::kLess: test.split = before; break;
    case TreeTest::kGreater: test.is_swapped = true; break;
    case TreeTest::kGreaterEqual: test = {before, 0, true}; break;
    case TreeTest::kEqual: test.flags = kEquality; break;
    case TreeTest::kNotEqual: test = {split, kEquality, true}; break;
    default: break;
  }
  // NaN fails every test but "not equal"; it counts as true where the node says so.
  const bool is_nan_true = node.takes_missing || node.test == TreeTest::kNotEqual;
  if (is_nan_true != test.is_swapped) test.flags |= kNanLeft;
  return test;
}

class Builder {
 public:
  Builder(const Ensemble& ensemble, std::int64_t columns, bool is_double, TreeTable& table)
      : ensemble_(ensemble), columns_(columns), is_double_(is_double), table_(table) {}

  Status run() {
    if (Status status = check(); !status.is_ok()) return status;
    find_features();
    const int feature_bits = std::bit_width(table_.columns.size() - 1);
    if (feature_bits > 20) return unimplemented("trees over that many features");
    table_.child_shift = static_cast<std::uint32_t>(feature_bits) + 2;
    table_.rules = ensemble_.rules;
    table_.nodes.resize(2);  // trees start at even places
    table_.values.resize(2);
    leaf_ = std::uint64_t{~std::uint32_t{0} << table_.child_shift} << 32 |  // distance -1
            static_cast<std::uint32_t>(kNever);
    for (const std::int32_t root : ensemble_.roots) {
      if (Status status = add_tree(root); !status.is_ok()) return status;
    }
    sort_trees();
    return plugin::ok();
  }

 private:
  Status check() {
    const auto& rules = ensemble_.rules;
    if (rules.aggregate != reference::TreeAggregate::kSum &&
        rules.aggregate != reference::TreeAggregate::kAverage) {
      return unimplemented("trees whose least or largest counts");
    }
    for (const TreeNode& node : ensemble_.nodes) {
      if (node.test == TreeTest::kMember) return unimplemented("trees with sets of members");
      if (node.feature >= columns_) return plugin::invalid_argument("a feature is outside X");
      const bool is_branch = node.test != TreeTest::kLeaf;
      if (is_branch && !is_double_ && !is_float(node.split)) {
        return unimplemented("f32 features with splits that f32 cannot represent");
      }
      table_.has_rows = table_.has_rows || (node.test == TreeTest::kLeaf && node.count > 1);
    }
    table_.has_score.assign(static_cast<std::size_t>(rules.num_targets), 0);
    return plugin::ok();
  }

  static bool is_float(double split) {
    return !std::isfinite(split) || split == static_cast<float>(split);
  }

  /// The columns that nodes test, and their splits if X is f64.
  void find_features() {
    std::vector<std::vector<double>> splits(static_cast<std::size_t>(columns_));
    std::vector<std::uint8_t> is_used(static_cast<std::size_t>(columns_));
    for (const TreeNode& node : ensemble_.nodes) {
      if (node.test == TreeTest::kLeaf) continue;
      const auto column = static_cast<std::size_t>(node.feature);
      is_used[column] = 1;
      if (is_double_ && !std::isnan(node.split)) splits[column].push_back(node.split);
    }
    place_of_.resize(splits.size());
    for (std::size_t column = 0; column < splits.size(); ++column) {
      if (is_used[column] != 0) add_feature(column, splits[column]);
    }
    std::vector<double> none;
    if (table_.columns.empty()) add_feature(0, none);  // trees of one leaf
  }

  void add_feature(std::size_t column, std::vector<double>& splits) {
    place_of_[column] = static_cast<std::int32_t>(table_.columns.size());
    table_.columns.push_back(static_cast<std::int32_t>(column));
    if (!is_double_) return;
    std::ranges::sort(splits);
    const auto end = std::unique(splits.begin(), splits.end());
    table_.splits.insert(table_.splits.end(), splits.begin(), end);
    table_.split_ends.push_back(static_cast<std::uint32_t>(table_.splits.size()));
  }

  /// What nodes compare of a feature that has this value: `tree_key`, or a place among its splits.
  std::int32_t key_of(std::size_t feature, double value) const {
    if (!is_double_) return tree_key(static_cast<float>(value));
    const std::span<const double> all = splits_of(table_.splits, table_.split_ends, feature);
    std::int32_t key = 0;
    portable::split_keys(all.data(), static_cast<std::int64_t>(all.size()), &value, 1, 1, &key, 1);
    return key;
  }

  Status add_tree(std::int32_t root) {
    constexpr std::size_t kMax = std::size_t{1} << 31;
    const std::size_t limit = 4 * ensemble_.nodes.size() + 64;  // shared children are copied
    struct Open {
      std::int32_t node;
      std::uint32_t place;
      std::int32_t depth;
    };
    const std::uint32_t first = add_pair();
    std::vector<Open> open = {{root, first, 0}};
    std::int32_t depth = 0;
    for (std::size_t i = 0; i < open.size(); ++i) {
      const Open at = open[i];
      const TreeNode& node = ensemble_.nodes[static_cast<std::size_t>(at.node)];
      depth = std::max(depth, at.depth);
      if (node.test == TreeTest::kLeaf) {
        put_leaf(at.place, node);
        continue;
      }
      if (table_.nodes.size() + 2 >= kMax || open.size() > limit) {
        return unimplemented("trees that share nodes");
      }
      const std::uint32_t child = add_pair();
      const std::int32_t feature = place_of_[static_cast<std::size_t>(node.feature)];
      const std::int32_t key = key_of(static_cast<std::size_t>(feature), node.split);
      const Test test = test_of(node, key);
      if (!put(at.place, test, feature, child - at.place)) {
        return unimplemented("trees of that size over that many features");
      }
      open.push_back({test.is_swapped ? node.on_false : node.on_true, child, at.depth + 1});
      open.push_back({test.is_swapped ? node.on_true : node.on_false, child + 1, at.depth + 1});
    }
    table_.roots.push_back(first);
    table_.depths.push_back(depth);
    return note_targets(open.size(), [&](std::size_t i) { return open[i].node; });
  }

  /// Two places side by side. A root uses the first alone; the other stays a leaf that no walk
  /// meets.
  std::uint32_t add_pair() {
    const auto place = static_cast<std::uint32_t>(table_.nodes.size());
    table_.nodes.resize(place + 2, leaf_);
    table_.values.resize(place + 2);
    return place;
  }

  bool put(std::uint32_t place, const Test& test, std::int32_t feature, std::uint32_t distance) {
    if (distance >= std::uint32_t{1} << (31 - table_.child_shift)) return false;
    table_.is_flagged = table_.is_flagged || test.flags != 0;
    const std::uint32_t link =
        distance << table_.child_shift | static_cast<std::uint32_t>(feature) << 2U | test.flags;
    table_.nodes[place] = std::uint64_t{link} << 32 | static_cast<std::uint32_t>(test.split);
    return true;
  }

  void put_leaf(std::uint32_t place, const TreeNode& leaf) {
    table_.nodes[place] = leaf_;
    const auto* weights = ensemble_.weights.data() + leaf.first;
    if (!table_.has_rows) {
      const float value = leaf.count > 0 ? static_cast<float>(weights->weight) : 0.0F;
      table_.values[place] = std::bit_cast<std::uint32_t>(value);
      return;
    }
    const std::size_t start = table_.rows.size();
    const std::size_t size = table_.has_score.size();
    table_.values[place] = static_cast<std::uint32_t>(start / size);
    table_.rows.resize(start + size);
    for (std::int32_t i = 0; i < leaf.count; ++i) {
      table_.rows[start + static_cast<std::size_t>(weights[i].target)] +=
          static_cast<float>(weights[i].weight);
    }
  }

  /// Targets that every leaf of the tree speaks of have a score whatever the row. A target that
  /// only some leaves speak of must be such a one through another tree: see finish_targets.
  template <typename NodeAt>
  Status note_targets(std::size_t count, const NodeAt& node_at) {
    std::vector<std::int64_t> leaves_with(table_.has_score.size());
    std::int64_t leaves = 0;
    std::int32_t only = -1;
    bool has_only = true;
    for (std::size_t i = 0; i < count; ++i) {
      const TreeNode& node = ensemble_.nodes[static_cast<std::size_t>(node_at(i))];
      if (node.test != TreeTest::kLeaf) continue;
      ++leaves;
      for (std::int32_t w = 0; w < node.count; ++w) {
        const auto& weight = ensemble_.weights[static_cast<std::size_t>(node.first + w)];
        ++leaves_with[static_cast<std::size_t>(weight.target)];
        has_only = has_only && (only < 0 || only == weight.target);
        only = weight.target;
      }
    }
    for (std::size_t t = 0; t < leaves_with.size(); ++t) {
      if (leaves_with[t] >= leaves) table_.has_score[t] = 1;
    }
    table_.targets.push_back(std::max(only, 0));
    if (has_only || table_.has_rows) return plugin::ok();
    return unimplemented("trees whose leaves speak of different targets, one each");
  }

  /// Walking trees of like depth together wastes no steps; the first lanes walk a leaf.
  void sort_trees() {
    while (table_.roots.size() % kTreeLanes != 0) {
      const std::uint32_t place = add_pair();
      put_leaf(place, TreeNode());
      table_.roots.insert(table_.roots.begin(), place);
      table_.depths.insert(table_.depths.begin(), 0);
      table_.targets.insert(table_.targets.begin(), 0);
      ++table_.num_empty;
    }
    std::vector<std::size_t> order(table_.roots.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [this](std::size_t i) { return table_.depths[i]; });
    reorder(order, table_.roots);
    reorder(order, table_.depths);
    reorder(order, table_.targets);
  }

  template <typename T>
  static void reorder(const std::vector<std::size_t>& order, std::vector<T>& values) {
    const std::vector<T> old = values;
    for (std::size_t i = 0; i < order.size(); ++i) values[i] = old[order[i]];
  }

  const Ensemble& ensemble_;
  std::int64_t columns_;
  bool is_double_;
  TreeTable& table_;
  std::uint64_t leaf_ = 0;              ///< the node of a leaf
  std::vector<std::int32_t> place_of_;  ///< of each column of X, in TreeTable::columns
};

}  // namespace

Status TreeTable::make(const Ensemble& ensemble, std::int64_t columns, bool is_double,
                       TreeTable* table) {
  if (columns < 1 || ensemble.nodes.empty()) return unimplemented("trees over nothing");
  if (Status status = Builder(ensemble, columns, is_double, *table).run(); !status.is_ok())
    return status;
  // A classifier chooses among classes with a score, so the set of these must not depend on the
  // row.
  if (!ensemble.rules.is_classifier) return plugin::ok();
  for (const auto& weight : ensemble.weights) {
    if (table->has_score[static_cast<std::size_t>(weight.target)] == 0) {
      return unimplemented("trees that speak of a class at some leaves only");
    }
  }
  return plugin::ok();
}

}  // namespace sluice::cpu
