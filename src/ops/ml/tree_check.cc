#include "ops/ml/tree_check.h"

#include <algorithm>
#include <utility>

#include "ops/ml/ml.h"
#include "ops/ml/node_index.h"

namespace sluice::ops {
namespace {

using Ints = std::span<const std::int64_t>;

/// Elements of a list of floats, which may stand as a list or as a tensor; 0 for neither.
Result<std::size_t> count_floats(const InferenceContext& context, const std::string& name) {
  const auto floats = SLUICE_TRY(list_attribute<float>(context, name));
  const auto* tensor = context.attributes().find<ir::Constant>(name + "_as_tensor");
  if (tensor == nullptr) return floats.size();
  if (!floats.empty()) {
    return context.error("attributes \"{}\" and \"{}_as_tensor\" exclude each other", name, name);
  }
  if (!ir::is_floating_point(tensor->type.element())) {
    return context.error("attribute \"{}_as_tensor\" is {}; it must be of floats", name,
                         tensor->type.to_string());
  }
  return static_cast<std::size_t>(ir::num_elements(*tensor->type.shape()).value_or(0));
}

Status check_length(const InferenceContext& context, const std::string& name, std::size_t length,
                    std::size_t wanted) {
  if (length == wanted) return ok_status();
  return context.error("attribute \"{}\" has {} entries for {} nodes; the counts must be equal",
                       name, length, wanted);
}

/// The lists that have an entry per node.
struct NodeLists {
  Ints trees, nodes, on_true, on_false, features, missing;
  std::span<const std::string> modes;
};

Result<NodeLists> read_nodes(const InferenceContext& context) {
  NodeLists lists;
  const std::pair<const char*, Ints*> of_integers[] = {{"nodes_treeids", &lists.trees},
                                                       {"nodes_nodeids", &lists.nodes},
                                                       {"nodes_truenodeids", &lists.on_true},
                                                       {"nodes_falsenodeids", &lists.on_false},
                                                       {"nodes_featureids", &lists.features}};
  for (const auto& [name, list] : of_integers) {
    *list = SLUICE_TRY(list_attribute<std::int64_t>(context, name));
    // The first list sets the number of nodes. The others must have as many.
    if (lists.trees.empty()) return context.error("attribute \"{}\" is missing or empty", name);
    SLUICE_TRY(check_length(context, name, list->size(), lists.trees.size()));
  }
  const std::size_t count = lists.trees.size();
  lists.modes = SLUICE_TRY(list_attribute<std::string>(context, "nodes_modes"));
  SLUICE_TRY(check_length(context, "nodes_modes", lists.modes.size(), count));
  const std::size_t values = SLUICE_TRY(count_floats(context, "nodes_values"));
  SLUICE_TRY(check_length(context, "nodes_values", values, count));
  lists.missing =
      SLUICE_TRY(list_attribute<std::int64_t>(context, "nodes_missing_value_tracks_true"));
  if (!lists.missing.empty()) {
    SLUICE_TRY(
        check_length(context, "nodes_missing_value_tracks_true", lists.missing.size(), count));
  }
  return lists;
}

/// Nodes are named by tree and number. A change of the tree's number begins a new tree, whose first
/// node is its root.
Result<TreeLinks> link_nodes(const InferenceContext& context, const NodeLists& lists,
                             const NodeIndex& index, const ir::Dim& columns) {
  TreeLinks links;
  links.children.resize(lists.trees.size());
  for (std::size_t i = 0; i < lists.trees.size(); ++i) {
    if (i == 0 || lists.trees[i] != lists.trees[i - 1]) {
      links.roots.push_back(static_cast<std::int64_t>(i));
    }
    if (std::ranges::find(kTreeModes, lists.modes[i]) == kTreeModes.end()) {
      return context.error("nodes_modes[{}] is \"{}\", which is not a mode", i, lists.modes[i]);
    }
    // A leaf's links and feature mean nothing, so files may hold anything there.
    if (lists.modes[i] == "LEAF") continue;
    if (lists.features[i] < 0 || (columns.is_known() && lists.features[i] >= columns.value())) {
      return context.error("nodes_featureids[{}] is {}; X has {} features", i, lists.features[i],
                           columns.to_string());
    }
    const auto on_true = index.find(lists.trees[i], lists.on_true[i]);
    const auto on_false = index.find(lists.trees[i], lists.on_false[i]);
    if (!on_true || !on_false) {
      return context.error("{}[{}] is {}; tree {} has no such node",
                           on_true ? "nodes_falsenodeids" : "nodes_truenodeids", i,
                           on_true ? lists.on_false[i] : lists.on_true[i], lists.trees[i]);
    }
    links.children[i] = {static_cast<std::int64_t>(*on_true), static_cast<std::int64_t>(*on_false)};
  }
  return links;
}

Status check_weights(const InferenceContext& context, const std::string& prefix,
                     std::int64_t num_targets, const NodeIndex& index) {
  const auto trees = SLUICE_TRY(list_attribute<std::int64_t>(context, prefix + "_treeids"));
  const auto nodes = SLUICE_TRY(list_attribute<std::int64_t>(context, prefix + "_nodeids"));
  const auto ids = SLUICE_TRY(list_attribute<std::int64_t>(context, prefix + "_ids"));
  const std::size_t weights = SLUICE_TRY(count_floats(context, prefix + "_weights"));
  if (nodes.size() != trees.size() || ids.size() != trees.size() || weights != trees.size()) {
    return context.error(
        "attributes {0}_treeids, {0}_nodeids, {0}_ids and {0}_weights have {1}, {2}, {3} and {4} "
        "entries; they must have as many",
        prefix, trees.size(), nodes.size(), ids.size(), weights);
  }
  for (std::size_t i = 0; i < trees.size(); ++i) {
    if (!index.find(trees[i], nodes[i])) {
      return context.error("{}_nodeids[{}] is {}; tree {} has no such node", prefix, i, nodes[i],
                           trees[i]);
    }
    if (ids[i] < 0 || ids[i] >= num_targets) {
      return context.error("{}_ids[{}] is {}, but there are only {}", prefix, i, ids[i],
                           num_targets);
    }
  }
  return ok_status();
}

}  // namespace

Status check_acyclic(const InferenceContext& context, const TreeLinks& links) {
  enum class State : std::uint8_t { kNew, kOpen, kDone };
  std::vector<State> states(links.children.size(), State::kNew);
  std::vector<std::int64_t> path;  // a node is open from its first visit to its second
  for (const std::int64_t root : links.roots) {
    path.push_back(root);
    while (!path.empty()) {
      const std::int64_t node = path.back();
      State& state = states[static_cast<std::size_t>(node)];
      // A second visit: all below the node is done. A node that two parents share stands in the
      // path
      // twice, and its lower place finds it done.
      if (state != State::kNew) {
        state = State::kDone;
        path.pop_back();
        continue;
      }
      state = State::kOpen;
      const TreeLinks::Children& children = links.children[static_cast<std::size_t>(node)];
      for (const std::int64_t child : {children.on_true, children.on_false}) {
        if (child == TreeLinks::kLeaf) continue;
        const State reached = states[static_cast<std::size_t>(child)];
        if (reached == State::kOpen) {
          return context.error("node {} of its list is below itself: the tree has a cycle", child);
        }
        if (reached == State::kNew) path.push_back(child);
      }
    }
  }
  return ok_status();
}

Status check_base_values(const InferenceContext& context, std::int64_t num_targets) {
  const std::size_t base = SLUICE_TRY(count_floats(context, "base_values"));
  if (base <= 1 || base == static_cast<std::size_t>(num_targets)) return ok_status();
  return context.error("attribute \"base_values\" has {} entries; it needs {}", base, num_targets);
}

Status check_named_trees(const InferenceContext& context, const std::string& weights,
                         std::int64_t num_targets, const ir::Dim& columns) {
  const NodeLists lists = SLUICE_TRY(read_nodes(context));
  const NodeIndex index(lists.trees, lists.nodes);
  if (const auto duplicate = index.find_duplicate()) {
    return context.error("node {} of tree {} is given twice", lists.nodes[*duplicate],
                         lists.trees[*duplicate]);
  }
  const TreeLinks links = SLUICE_TRY(link_nodes(context, lists, index, columns));
  SLUICE_TRY(check_acyclic(context, links));
  return check_weights(context, weights, num_targets, index);
}

}  // namespace sluice::ops
