// The lists of TreeEnsemble: nodes and leaves are named by their place.
#include <algorithm>
#include <cmath>
#include <utility>

#include "ops/ml/ml.h"
#include "ops/ml/tree_check.h"

namespace sluice::ops {
namespace {

using Ints = std::span<const std::int64_t>;

constexpr std::int64_t kMember = 6;  // BRANCH_MEMBER, the largest mode

struct PlacedTrees {
  Ints features, on_true, on_false, true_leafs, false_leafs, missing, leaf_targets, roots;
  std::vector<std::int64_t> modes;
};

Result<const ir::Constant*> tensor_of(const InferenceContext& context, std::string_view name) {
  const auto* tensor = context.attributes().find<ir::Constant>(name);
  if (tensor == nullptr) return context.error("attribute \"{}\" must be a tensor", name);
  return tensor;
}

Status check_float_list(const InferenceContext& context, std::string_view name,
                        std::size_t wanted) {
  const ir::Constant& tensor = *SLUICE_TRY(tensor_of(context, name));
  const auto element = context.element(0);
  if (tensor.type.element() != element && element != ir::ElementType::kUndefined) {
    return context.error("attribute \"{}\" is {}; X is {}", name, tensor.type.to_string(),
                         ir::element_type_name(element));
  }
  if (ir::num_elements(*tensor.type.shape()) == static_cast<std::int64_t>(wanted)) {
    return ok_status();
  }
  return context.error("attribute \"{}\" is {}; it must have {} elements", name,
                       tensor.type.to_string(), wanted);
}

/// Sets of members are concatenated, separated by NaN.
Status check_members(const InferenceContext& context, const PlacedTrees& trees) {
  const auto wanted = std::count(trees.modes.begin(), trees.modes.end(), kMember);
  if (wanted == 0) return ok_status();
  const ir::Constant& tensor = *SLUICE_TRY(tensor_of(context, "membership_values"));
  const auto values = ir::float_values(tensor);
  if (!values) return context.error("attribute \"membership_values\" must be of floats");
  auto sets = std::count_if(values->begin(), values->end(), [](double v) { return std::isnan(v); });
  if (!values->empty() && !std::isnan(values->back())) ++sets;
  if (sets == wanted) return ok_status();
  return context.error("attribute \"membership_values\" has {} sets; {} nodes need one", sets,
                       wanted);
}

/// All lists have an entry per node, or per leaf. What later code indexes is checked here and in
/// link_nodes.
Result<PlacedTrees> read_lists(const InferenceContext& context) {
  PlacedTrees trees;
  const std::pair<const char*, Ints*> per_node[] = {{"nodes_featureids", &trees.features},
                                                    {"nodes_truenodeids", &trees.on_true},
                                                    {"nodes_falsenodeids", &trees.on_false},
                                                    {"nodes_trueleafs", &trees.true_leafs},
                                                    {"nodes_falseleafs", &trees.false_leafs}};
  const ir::Constant& modes = *SLUICE_TRY(tensor_of(context, "nodes_modes"));
  trees.modes = ir::integer_values(modes).value_or(std::vector<std::int64_t>());
  if (trees.modes.empty()) return context.error("attribute \"nodes_modes\" has no modes");
  for (const auto& [name, list] : per_node) {
    *list = SLUICE_TRY(list_attribute<std::int64_t>(context, name));
    if (list->size() == trees.modes.size()) continue;
    return context.error("attribute \"{}\" has {} entries; \"nodes_modes\" has {}", name,
                         list->size(), trees.modes.size());
  }
  trees.missing =
      SLUICE_TRY(list_attribute<std::int64_t>(context, "nodes_missing_value_tracks_true"));
  if (!trees.missing.empty() && trees.missing.size() != trees.modes.size()) {
    return context.error(
        "attribute \"nodes_missing_value_tracks_true\" has {} entries; \"nodes_modes\" has {}",
        trees.missing.size(), trees.modes.size());
  }
  trees.leaf_targets = SLUICE_TRY(list_attribute<std::int64_t>(context, "leaf_targetids"));
  trees.roots = SLUICE_TRY(list_attribute<std::int64_t>(context, "tree_roots"));
  SLUICE_TRY(check_float_list(context, "nodes_splits", trees.modes.size()));
  SLUICE_TRY(check_float_list(context, "leaf_weights", trees.leaf_targets.size()));
  SLUICE_TRY(check_members(context, trees));
  return trees;
}

Status check_index(const InferenceContext& context, std::string_view name, std::size_t place,
                   std::int64_t value, std::size_t limit, std::string_view what) {
  if (value >= 0 && static_cast<std::size_t>(value) < limit) return ok_status();
  return context.error("{}[{}] is {}, but there are only {} {}", name, place, value, limit, what);
}

Result<TreeLinks> link_nodes(const InferenceContext& context, const PlacedTrees& trees,
                             const ir::Dim& columns) {
  TreeLinks links;
  links.children.resize(trees.modes.size());
  const std::size_t nodes = trees.modes.size();
  const std::size_t leaves = trees.leaf_targets.size();
  for (std::size_t i = 0; i < nodes; ++i) {
    SLUICE_TRY(check_index(context, "nodes_modes", i, trees.modes[i], kMember + 1, "modes"));
    if (trees.features[i] < 0 || (columns.is_known() && trees.features[i] >= columns.value())) {
      return context.error("nodes_featureids[{}] is {}; X has {} features", i, trees.features[i],
                           columns.to_string());
    }
    // A flag says whether the number names a leaf or a node.
    const bool ends_true = trees.true_leafs[i] != 0;
    const bool ends_false = trees.false_leafs[i] != 0;
    SLUICE_TRY(check_index(context, "nodes_truenodeids", i, trees.on_true[i],
                           ends_true ? leaves : nodes, ends_true ? "leaves" : "nodes"));
    SLUICE_TRY(check_index(context, "nodes_falsenodeids", i, trees.on_false[i],
                           ends_false ? leaves : nodes, ends_false ? "leaves" : "nodes"));
    if (!ends_true) links.children[i].on_true = trees.on_true[i];
    if (!ends_false) links.children[i].on_false = trees.on_false[i];
  }
  for (std::size_t i = 0; i < trees.roots.size(); ++i) {
    SLUICE_TRY(check_index(context, "tree_roots", i, trees.roots[i], nodes, "nodes"));
    links.roots.push_back(trees.roots[i]);
  }
  return links;
}

}  // namespace

Status check_placed_trees(const InferenceContext& context, std::int64_t num_targets,
                          const ir::Dim& columns) {
  const PlacedTrees trees = SLUICE_TRY(read_lists(context));
  SLUICE_TRY(check_acyclic(context, SLUICE_TRY(link_nodes(context, trees, columns))));
  for (std::size_t i = 0; i < trees.leaf_targets.size(); ++i) {
    SLUICE_TRY(check_index(context, "leaf_targetids", i, trees.leaf_targets[i],
                           static_cast<std::size_t>(num_targets), "targets"));
  }
  return ok_status();
}

}  // namespace sluice::ops
