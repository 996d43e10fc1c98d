#include "reference/kernels/ml/ensemble.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>

#include "reference/kernels/ml/ensemble_table.h"
#include "reference/kernels/support.h"

namespace sluice::reference {
namespace {

using Integers = std::span<const std::int64_t>;

constexpr std::string_view kModes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                       "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
constexpr std::string_view kAggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};

Status misfit(const sluice_op& op, const char* what) {
  return plugin::invalid_argument(plugin::kind_of(op) + ": " + what);
}

/// A list of floats, or the tensor that stands for it.
std::vector<double> read_floats(const plugin::Attributes& attributes, const std::string& name) {
  if (const sluice_tensor* tensor = attributes.get_tensor(name + "_as_tensor")) {
    return read_doubles(*tensor);
  }
  const auto floats = attributes.get_floats(name);
  return {floats.begin(), floats.end()};
}

struct PairHash {
  std::size_t operator()(const std::pair<std::int64_t, std::int64_t>& key) const {
    return std::hash<std::int64_t>()(key.first * 0x9E3779B1 + key.second);
  }
};

/// Finds nodes by their tree and number. Most files list tree after tree in order, and number the
/// nodes of each from 0 to their count: an array then holds the places. Other files cost an entry
/// of a table per node.
class NodePlaces {
 public:
  void read(Integers trees, Integers nodes) {
    trees_ = trees;
    bool is_ascending = true;
    for (std::size_t i = 0; i < trees.size(); ++i) {
      if (i > 0 && trees[i] == trees[i - 1]) continue;
      is_ascending = is_ascending && (i == 0 || trees[i] > trees[i - 1]);
      starts_.push_back(i);
    }
    if (is_ascending && number(nodes)) return;
    by_number_.clear();
    for (std::size_t i = 0; i < trees.size(); ++i) {
      places_.emplace(std::pair(trees[i], nodes[i]), static_cast<std::int32_t>(i));
    }
  }

  /// The first node of each tree.
  const std::vector<std::size_t>& starts() const { return starts_; }

  /// -1 if there is none.
  std::int32_t find(std::int64_t tree, std::int64_t node) const {
    if (by_number_.empty()) {
      const auto at = places_.find({tree, node});
      return at == places_.end() ? -1 : at->second;
    }
    if (trees_[starts_[last_]] != tree) {  // callers ask tree after tree
      const auto at = std::ranges::lower_bound(starts_, tree, {},
                                               [this](std::size_t start) { return trees_[start]; });
      if (at == starts_.end() || trees_[*at] != tree) return -1;
      last_ = static_cast<std::size_t>(at - starts_.begin());
    }
    if (node < 0 || index(node) >= end_of(last_) - starts_[last_]) return -1;
    return by_number_[starts_[last_] + index(node)];
  }

 private:
  std::size_t end_of(std::size_t tree) const {
    return tree + 1 < starts_.size() ? starts_[tree + 1] : trees_.size();
  }

  /// Fills `by_number_`; false if the numbers of a tree are not those from 0 to its count.
  bool number(Integers nodes) {
    by_number_.assign(nodes.size(), -1);
    for (std::size_t tree = 0; tree < starts_.size(); ++tree) {
      const std::size_t start = starts_[tree];
      for (std::size_t i = start; i < end_of(tree); ++i) {
        if (nodes[i] < 0 || index(nodes[i]) >= end_of(tree) - start) return false;
        std::int32_t& place = by_number_[start + index(nodes[i])];
        if (place >= 0) return false;
        place = static_cast<std::int32_t>(i);
      }
    }
    return true;
  }

  Integers trees_;
  std::vector<std::size_t> starts_;
  std::vector<std::int32_t> by_number_;  ///< from the start of a tree on; empty: see `places_`
  mutable std::size_t last_ = 0;
  std::unordered_map<std::pair<std::int64_t, std::int64_t>, std::int32_t, PairHash> places_;
};

/// Reads the form whose nodes are named by tree and number.
class NamedTrees {
 public:
  NamedTrees(const sluice_op& op, Ensemble* ensemble)
      : op_(op), attributes_(op), ensemble_(*ensemble) {}

  Status run() {
    trees_ = attributes_.get_ints("nodes_treeids");
    nodes_ = attributes_.get_ints("nodes_nodeids");
    if (nodes_.size() != trees_.size() || trees_.size() > kMax) {
      return misfit(op_, "its lists of nodes do not fit");
    }
    places_.read(trees_, nodes_);
    for (const std::size_t start : places_.starts()) {
      ensemble_.roots.push_back(static_cast<std::int32_t>(start));
    }
    if (Status status = read_nodes(); !status.is_ok()) return status;
    return read_weights(attributes_.get_ints("target_ids").empty() ? "class" : "target");
  }

 private:
  static constexpr std::size_t kMax = std::numeric_limits<std::int32_t>::max();

  Status read_nodes() {
    const std::size_t count = trees_.size();
    const auto on_true = attributes_.get_ints("nodes_truenodeids");
    const auto on_false = attributes_.get_ints("nodes_falsenodeids");
    const auto features = attributes_.get_ints("nodes_featureids");
    const auto missing = attributes_.get_ints("nodes_missing_value_tracks_true");
    const auto modes = attributes_.get_texts("nodes_modes");
    const std::vector<double> splits = read_floats(attributes_, "nodes_values");
    if (on_true.size() != count || on_false.size() != count || features.size() != count ||
        modes.size() != count || splits.size() != count ||
        // A file without this list has no missing values that go to the true side.
        (!missing.empty() && missing.size() != count)) {
      return misfit(op_, "its lists of nodes do not fit");
    }
    ensemble_.nodes.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      TreeNode& node = ensemble_.nodes[i];
      const auto mode = std::ranges::find(kModes, modes[i]);
      // What is no branch is a leaf.
      if (mode == std::end(kModes)) continue;
      node.test = static_cast<TreeTest>(mode - std::begin(kModes));
      node.split = splits[i];
      node.takes_missing = !missing.empty() && missing[i] != 0;
      node.on_true = places_.find(trees_[i], on_true[i]);
      node.on_false = places_.find(trees_[i], on_false[i]);
      if (node.on_true < 0 || node.on_false < 0 || features[i] < 0 ||
          features[i] > std::numeric_limits<std::int32_t>::max()) {
        return misfit(op_, "a node's children or feature do not exist");
      }
      node.feature = static_cast<std::int32_t>(features[i]);
    }
    return plugin::ok();
  }

  /// Weights of a leaf need not be neighbours in the lists; here they are.
  Status read_weights(const std::string& prefix) {
    const auto trees = attributes_.get_ints(prefix + "_treeids");
    const auto nodes = attributes_.get_ints(prefix + "_nodeids");
    const auto ids = attributes_.get_ints(prefix + "_ids");
    const std::vector<double> weights = read_floats(attributes_, prefix + "_weights");
    if (nodes.size() != trees.size() || ids.size() != trees.size() ||
        weights.size() != trees.size() || trees.size() > kMax) {
      return misfit(op_, "its lists of weights do not fit");
    }
    std::vector<std::pair<std::int32_t, std::size_t>> order;  // node, entry
    for (std::size_t i = 0; i < trees.size(); ++i) {
      const std::int32_t node = places_.find(trees[i], nodes[i]);
      if (node < 0) return misfit(op_, "a weight's node does not exist");
      if (ensemble_.nodes[index(node)].test == TreeTest::kLeaf) order.emplace_back(node, i);
    }
    // As onnxruntime has it. skl2onnx relies on it: it writes the number of a leaf once per class.
    const bool has_one_target = prefix == "target" && attributes_.get_int("n_targets", 1) == 1;
    // A leaf's weights by place, those of one leaf in the file's order, in which they are added.
    const auto node_of = [](const auto& entry) { return entry.first; };
    if (!std::ranges::is_sorted(order, {}, node_of)) std::ranges::stable_sort(order, {}, node_of);
    for (const auto& [node, i] : order) {
      TreeNode& leaf = ensemble_.nodes[index(node)];
      if (has_one_target && leaf.count > 0) continue;
      if (leaf.count++ == 0) leaf.first = static_cast<std::int32_t>(ensemble_.weights.size());
      ensemble_.weights.push_back({static_cast<std::int32_t>(ids[i]), weights[i]});
    }
    return plugin::ok();
  }

  const sluice_op& op_;
  plugin::Attributes attributes_;
  Ensemble& ensemble_;
  Integers trees_, nodes_;
  NodePlaces places_;
};

std::vector<double> read_tensor(const plugin::Attributes& attributes, const char* name) {
  const sluice_tensor* tensor = attributes.get_tensor(name);
  return tensor == nullptr ? std::vector<double>() : read_doubles(*tensor);
}

/// The sets of member tests stand in the order of their nodes, NaN between them.
void read_members(const plugin::Attributes& attributes, Ensemble& ensemble) {
  ensemble.members = read_tensor(attributes, "membership_values");
  std::size_t at = 0;
  for (TreeNode& node : ensemble.nodes) {
    if (node.test != TreeTest::kMember) continue;
    node.first = static_cast<std::int32_t>(at);
    while (at < ensemble.members.size() && !std::isnan(ensemble.members[at])) ++at;
    node.count = static_cast<std::int32_t>(at) - node.first;
    if (at < ensemble.members.size()) ++at;
  }
}

/// Reads the form whose nodes and leaves are named by place. Leaves follow the nodes.
Status read_placed(const sluice_op& op, Ensemble& ensemble) {
  const plugin::Attributes attributes(op);
  const std::vector<double> modes = read_tensor(attributes, "nodes_modes");
  const std::vector<double> splits = read_tensor(attributes, "nodes_splits");
  const std::vector<double> weights = read_tensor(attributes, "leaf_weights");
  const auto leaf_targets = attributes.get_ints("leaf_targetids");
  const auto missing = attributes.get_ints("nodes_missing_value_tracks_true");
  const Integers sides[] = {
      attributes.get_ints("nodes_truenodeids"),  attributes.get_ints("nodes_trueleafs"),
      attributes.get_ints("nodes_falsenodeids"), attributes.get_ints("nodes_falseleafs"),
      attributes.get_ints("nodes_featureids"),   missing.empty() ? sides[0] : missing};
  const std::size_t count = modes.size();
  const bool fits = splits.size() == count && weights.size() == leaf_targets.size() &&
                    std::ranges::all_of(sides, [&](Integers list) { return list.size() == count; });
  if (!fits) return misfit(op, "its lists do not fit");
  const auto child = [&](std::int64_t place, bool is_leaf) -> std::int32_t {
    // Leaves stand behind the nodes, so their places start at `count`.
    const std::size_t limit = is_leaf ? weights.size() : count;
    if (place < 0 || index(place) >= limit) return -1;
    return static_cast<std::int32_t>(place + (is_leaf ? static_cast<std::int64_t>(count) : 0));
  };
  for (std::size_t i = 0; i < count; ++i) {
    TreeNode node;
    node.test = static_cast<TreeTest>(modes[i]);
    node.split = splits[i];
    node.takes_missing = !missing.empty() && missing[i] != 0;
    node.on_true = child(sides[0][i], sides[1][i] != 0);
    node.on_false = child(sides[2][i], sides[3][i] != 0);
    node.feature = static_cast<std::int32_t>(sides[4][i]);
    if (node.on_true < 0 || node.on_false < 0 || modes[i] > 6 || node.feature < 0) {
      return misfit(op, "a node's test, children or feature do not exist");
    }
    ensemble.nodes.push_back(node);
  }
  read_members(attributes, ensemble);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    ensemble.nodes.push_back({.first = static_cast<std::int32_t>(i), .count = 1});
    ensemble.weights.push_back({static_cast<std::int32_t>(leaf_targets[i]), weights[i]});
  }
  for (const std::int64_t root : attributes.get_ints("tree_roots")) {
    if (child(root, false) < 0) return misfit(op, "a root does not exist");
    ensemble.roots.push_back(static_cast<std::int32_t>(root));
  }
  return plugin::ok();
}

bool is_placed(const sluice_op& op) { return std::string_view(op.kind) == "TreeEnsemble"; }

}  // namespace

TreeRules read_tree_rules(const sluice_op& op) {
  const plugin::Attributes attributes(op);
  TreeRules rules;
  rules.num_targets = static_cast<std::int32_t>(attributes.get_int("n_targets", 1));
  rules.base_values = read_floats(attributes, "base_values");
  if (is_placed(op)) {
    rules.aggregate = static_cast<TreeAggregate>(attributes.get_int("aggregate_function", 1));
    rules.transform = static_cast<ScoreTransform>(attributes.get_int("post_transform"));
    return rules;
  }
  const auto aggregate =
      std::ranges::find(kAggregates, attributes.get_text("aggregate_function", "SUM"));
  rules.aggregate = static_cast<TreeAggregate>(aggregate - std::begin(kAggregates));
  rules.transform = find_transform(attributes.get_text("post_transform"));
  const std::size_t labels = attributes.get_ints("classlabels_int64s").size() +
                             attributes.get_texts("classlabels_strings").size();
  rules.is_classifier = labels > 0;
  if (rules.is_classifier) rules.num_targets = static_cast<std::int32_t>(labels);
  rules.num_trees = static_cast<std::int64_t>(attributes.get_ints("roots").size());
  return rules;
}

namespace {

bool holds(const Ensemble& ensemble, const TreeNode& node, double x) {
  switch (node.test) {
    case TreeTest::kLessEqual: return x <= node.split;
    case TreeTest::kLess: return x < node.split;
    case TreeTest::kGreaterEqual: return x >= node.split;
    case TreeTest::kGreater: return x > node.split;
    case TreeTest::kEqual: return x == node.split;
    case TreeTest::kNotEqual: return x != node.split;
    case TreeTest::kMember: {
      const auto set = std::span(ensemble.members).subspan(index(node.first), index(node.count));
      return std::ranges::find(set, x) != set.end();
    }
    case TreeTest::kLeaf: break;
  }
  return false;
}

}  // namespace

Status read_ensemble(const sluice_op& op, Ensemble* ensemble) {
  TreeRules& rules = ensemble->rules;
  rules = read_tree_rules(op);
  Status status;
  if (is_placed(op)) {
    status = read_placed(op, *ensemble);
  } else if (std::string_view(op.domain) == "sluice") {
    status = read_table(op, ensemble);
  } else {
    status = NamedTrees(op, ensemble).run();
  }
  if (!status.is_ok()) return status;
  std::vector<bool> is_named(index(std::max(rules.num_targets, 1)));
  for (const TreeWeight& weight : ensemble->weights) {
    if (weight.target < 0 || weight.target >= rules.num_targets) {
      return misfit(op, "a weight's target does not exist");
    }
    is_named[index(weight.target)] = true;
    rules.is_probability = rules.is_probability && weight.weight >= 0;
  }
  rules.num_trees = static_cast<std::int64_t>(ensemble->roots.size());
  rules.has_one_class =
      rules.is_classifier && rules.num_targets == 2 && std::ranges::count(is_named, true) == 1;
  return plugin::ok();
}

const TreeNode& find_leaf(const Ensemble& ensemble, std::int32_t root,
                          std::span<const double> row) {
  const TreeNode* node = &ensemble.nodes[index(root)];
  while (node->test != TreeTest::kLeaf) {
    const double x = row[index(node->feature)];
    const bool goes_true = holds(ensemble, *node, x) || (node->takes_missing && std::isnan(x));
    node = &ensemble.nodes[index(goes_true ? node->on_true : node->on_false)];
  }
  return *node;
}

}  // namespace sluice::reference
