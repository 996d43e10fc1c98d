#include "passes/lower/tree_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "ops/ml/node_index.h"
#include "ops/ml/tree_check.h"

namespace sluice::passes {
namespace {

using IntList = std::span<const std::int64_t>;

constexpr double kLeaf = 7;  // follows the tests of TreeEnsemble, of which 6 is membership

template <typename T>
std::span<const T> list_of(const ir::Operation& operation, std::string_view name) {
  const auto* list = operation.attributes.find<std::vector<T>>(name);
  return list == nullptr ? std::span<const T>() : std::span<const T>(*list);
}

/// A list of floats, or the tensor that stands for it.
std::vector<double> floats_of(const ir::Operation& operation, const std::string& name) {
  const auto* tensor = operation.attributes.find<ir::Constant>(name + "_as_tensor");
  if (tensor != nullptr) return ir::float_values(*tensor).value_or(std::vector<double>());
  const auto floats = list_of<float>(operation, name);
  return {floats.begin(), floats.end()};
}

class RowMaker {
 public:
  RowMaker(const ir::Operation& operation, ir::ElementType element)
      : operation_(operation),
        is_double_(element == ir::ElementType::kF64),
        trees_(list_of<std::int64_t>(operation, "nodes_treeids")),
        index_(trees_, list_of<std::int64_t>(operation, "nodes_nodeids")) {}

  Result<TreeRows> run() {
    SLUICE_TRY(group_weights());
    is_reached_.resize(trees_.size());
    for (std::size_t i = 0; i < trees_.size(); ++i) {
      if (i == 0 || trees_[i] != trees_[i - 1]) SLUICE_TRY(add_tree(i));
    }
    if (num_placed_ != weights_.size()) return unimplemented("weights outside the leaves");
    made_.values.insert(made_.values.end(), further_.begin(), further_.end());
    return std::move(made_);
  }

 private:
  /// Puts the weights of a node side by side, in the order of their list.
  Status group_weights() {
    const bool is_regressor = operation_.kind == "TreeEnsembleRegressor";
    const bool has_targets = !list_of<std::int64_t>(operation_, "target_ids").empty();
    const auto* num_targets = operation_.attributes.find<std::int64_t>("n_targets");
    has_one_target_ = is_regressor && (num_targets == nullptr || *num_targets == 1);
    if (is_regressor != has_targets) return unimplemented("weights of the other operator");
    const std::string prefix = is_regressor ? "target" : "class";
    const auto trees = list_of<std::int64_t>(operation_, prefix + "_treeids");
    const auto nodes = list_of<std::int64_t>(operation_, prefix + "_nodeids");
    targets_ = list_of<std::int64_t>(operation_, prefix + "_ids");
    weights_ = floats_of(operation_, prefix + "_weights");
    first_.resize(trees_.size() + 1);
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < trees.size(); ++i) {
      places.push_back(*index_.find(trees[i], nodes[i]));
      ++first_[places.back() + 1];
    }
    for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    order_.resize(places.size());
    std::vector<std::size_t> next = first_;
    for (std::size_t i = 0; i < places.size(); ++i) order_[next[places[i]]++] = i;
    return ok_status();
  }

  Status add_tree(std::size_t root) {
    tree_targets_.clear();
    made_.roots.push_back(made_.num_nodes);
    std::vector<std::size_t> open = {root};  // places, in the order of their rows
    const auto first = made_.num_nodes;
    grow(1);
    for (std::size_t i = 0; i < open.size(); ++i) {
      const std::size_t place = open[i];
      // Also ends a walk over nodes that form a circle.
      if (is_reached_[place]) return unimplemented("nodes that share a child");
      is_reached_[place] = true;
      const auto row = static_cast<std::size_t>(first) + i;
      if (modes_[place] == "LEAF") {
        SLUICE_TRY(put_leaf(row, place));
        continue;
      }
      SLUICE_TRY(put_branch(row, place));
      // Children lie side by side, so a branch stores the row of the first alone.
      open.push_back(*index_.find(trees_[place], on_true_[place]));
      open.push_back(*index_.find(trees_[place], on_false_[place]));
      grow(2);
    }
    return ok_status();
  }

  void grow(std::int64_t count) {
    made_.num_nodes += count;
    made_.values.resize(static_cast<std::size_t>(made_.num_nodes * ops::kTreeColumns));
  }

  Status put_branch(std::size_t row, std::size_t place) {
    const std::int64_t feature = features_[place];
    if (feature >= ops::kMaxTreeFeatures) return unimplemented("that many features");
    const double split = splits_[place];
    // Comparing with a rounded split could send an f32 feature the other way.
    if (!is_double_ && std::isfinite(split) && split != static_cast<float>(split)) {
      return unimplemented("f32 features with splits that f32 cannot represent");
    }
    made_.num_features = std::max(made_.num_features, feature + 1);
    const auto mode = std::ranges::find(ops::kTreeModes, modes_[place]);
    const bool takes_missing = !missing_.empty() && missing_[place] != 0;
    put(row, {static_cast<double>(mode - ops::kTreeModes.begin()), static_cast<double>(feature),
              split, static_cast<double>(made_.num_nodes), takes_missing ? 1.0 : 0.0});
    return ok_status();
  }

  Status put_leaf(std::size_t row, std::size_t place) {
    std::span own(order_.data() + first_[place], first_[place + 1] - first_[place]);
    num_placed_ += own.size();
    if (has_one_target_ && own.size() > 1) own = own.first(1);
    const auto count = static_cast<std::int64_t>(own.size());
    if (made_.leaf_weights == 0) made_.leaf_weights = count;
    if (count == 0 || count != made_.leaf_weights) return unimplemented("leaves of other weights");
    if (tree_targets_.empty()) {
      for (const std::size_t weight : own) tree_targets_.push_back(targets_[weight]);
    }
    const std::size_t more = further_.size() / ops::kTreeColumns;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const auto target = targets_[own[i]];
      if (target != tree_targets_[i]) return unimplemented("leaves of other targets");
      const Row weight = {kLeaf, static_cast<double>(target), weights_[own[i]],
                          static_cast<double>(more), 0};
      if (i == 0) put(row, weight);
      if (i > 0) further_.insert(further_.end(), weight.begin(), weight.end());
    }
    return ok_status();
  }

  using Row = std::array<double, ops::kTreeColumns>;
  void put(std::size_t row, const Row& values) {
    std::ranges::copy(values, made_.values.data() + row * values.size());
  }

  const ir::Operation& operation_;
  bool is_double_;
  bool has_one_target_ = false;  ///< a leaf's first weight is its value then
  IntList trees_;
  ops::NodeIndex index_;
  IntList on_true_ = list_of<std::int64_t>(operation_, "nodes_truenodeids");
  IntList on_false_ = list_of<std::int64_t>(operation_, "nodes_falsenodeids");
  IntList features_ = list_of<std::int64_t>(operation_, "nodes_featureids");
  IntList missing_ = list_of<std::int64_t>(operation_, "nodes_missing_value_tracks_true");
  std::span<const std::string> modes_ = list_of<std::string>(operation_, "nodes_modes");
  std::vector<double> splits_ = floats_of(operation_, "nodes_values");
  IntList targets_;
  std::vector<double> weights_;
  std::vector<std::size_t> order_;  ///< weights by their node's place
  std::vector<std::size_t> first_;  ///< by place: its first weight in `order_`
  std::vector<bool> is_reached_;
  std::vector<std::int64_t> tree_targets_;  ///< of each leaf of the tree being added
  std::vector<double> further_;             ///< rows of the leaves' weights but the first
  std::size_t num_placed_ = 0;
  TreeRows made_;
};

}  // namespace

Result<TreeRows> read_tree_rows(const ir::Operation& operation, ir::ElementType element) {
  return RowMaker(operation, element).run();
}

}  // namespace sluice::passes
