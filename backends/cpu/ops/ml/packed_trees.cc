#include "ops/ml/packed_trees.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string>

namespace sluice::cpu {
namespace {

constexpr std::uint32_t kMark = 0x31545253;  // of a whole packed form
constexpr std::int64_t kMaxFeatures = std::int64_t{1} << 20;
constexpr std::int64_t kMaxWeights = std::int64_t{1} << 28;  ///< in rows of all targets: 1 GiB

/// What the attributes and the shape of a table of whole binary trees promise.
struct Counts {
  std::int64_t words = 0;  ///< TreeTable::nodes and values
  std::int64_t trees = 0;  ///< empty ones included
  std::int64_t empty = 0;
  std::int64_t features = 0;  ///< at most so many
  std::int64_t splits = 0;    ///< at most so many
  bool is_double = false;     ///< X has splits
  std::int64_t targets = 0;
  std::int64_t rows = 0;
};

std::optional<Counts> counts_of(const sluice_op& op) {
  if (op.num_inputs <= kTreesInput) return std::nullopt;
  const sluice_tensor& table = op.inputs[kTreesInput].tensor;
  if (table.rank != 2 || table.dims[0] < 1) return std::nullopt;
  const plugin::Attributes attributes(op);
  const auto roots = static_cast<std::int64_t>(attributes.get_ints("roots").size());
  const std::int64_t nodes = attributes.get_int("num_nodes");
  const std::int64_t weights = attributes.get_int("leaf_weights");
  Counts counts;
  counts.features = attributes.get_int("num_features");
  counts.targets = reference::read_tree_rules(op).num_targets;
  if (roots < 1 || nodes < roots || nodes > table.dims[0] || weights < 1 || weights > kMaxWeights ||
      counts.features < 1 || counts.features > kMaxFeatures || counts.targets < 1) {
    return std::nullopt;
  }
  const int bits = std::bit_width(static_cast<std::uint64_t>(counts.features - 1)) + 2;
  const std::int64_t leaves = (nodes + roots) / 2;
  counts.empty = (kTreeLanes - roots % kTreeLanes) % kTreeLanes;
  counts.trees = roots + counts.empty;
  counts.words = 2 + nodes + roots + 2 * counts.empty;
  counts.is_double = op.inputs[0].tensor.element_type == plugin::kF64;
  counts.splits = counts.is_double ? nodes - leaves : 0;
  counts.rows = weights > 1 ? leaves + counts.empty : 0;
  const bool is_whole = (nodes + roots) % 2 == 0 && counts.words < std::int64_t{1} << (31 - bits) &&
                        counts.rows <= kMaxWeights / counts.targets &&
                        table.dims[0] - nodes == (weights - 1) * leaves;
  return is_whole ? std::optional(counts) : std::nullopt;
}

struct Header {
  std::uint32_t mark;
  std::uint32_t num_features;
  std::uint32_t num_splits;
  std::uint32_t child_shift;
  std::uint8_t is_flagged;
  std::uint8_t is_probability;
  std::uint8_t has_one_class;
  std::uint8_t unused[5];
};

/// Where the lists stand in the packed bytes: those of the largest elements first, so that each is
/// aligned for its own.
class Sections {
 public:
  explicit Sections(const Counts& counts) : counts_(counts) {}

  /// Calls visit(list, count, byte offset) for each list of a TreeTable or TreeView, which has at
  /// most `count` elements; gives the size in bytes.
  template <typename Trees, typename Visit>
  std::int64_t each(Trees& trees, const Visit& visit) const {
    std::int64_t offset = sizeof(Header);
    const auto add = [&](auto& list, std::int64_t count) {
      visit(list, count, offset);
      offset += count * static_cast<std::int64_t>(sizeof(*list.data()));
    };
    add(trees.nodes, counts_.words);
    add(trees.splits, counts_.splits);
    add(trees.split_ends, counts_.is_double ? counts_.features : 0);
    add(trees.values, counts_.words);
    add(trees.roots, counts_.trees);
    add(trees.depths, counts_.trees);
    add(trees.targets, counts_.trees);
    add(trees.columns, counts_.features);
    add(trees.rows, counts_.rows * counts_.targets);
    add(trees.has_score, counts_.targets);
    return offset;
  }

 private:
  Counts counts_;
};

/// The lists whose length depends on the data have the rest of theirs unused.
bool fits(const TreeTable& table, const Counts& counts) {
  const auto is = [](const auto& list, std::int64_t count) {
    return static_cast<std::int64_t>(list.size()) == count;
  };
  const auto is_within = [](const auto& list, std::int64_t count) {
    return static_cast<std::int64_t>(list.size()) <= count;
  };
  return is(table.nodes, counts.words) && is(table.values, counts.words) &&
         is(table.roots, counts.trees) && is(table.depths, counts.trees) &&
         is(table.targets, counts.trees) && is(table.rows, counts.rows * counts.targets) &&
         is(table.has_score, counts.targets) && is_within(table.columns, counts.features) &&
         is_within(table.splits, counts.splits);
}

Status misfit(const sluice_op& op, const std::string& what) {
  return plugin::invalid_argument(plugin::kind_of(op) + ": its packed trees have " + what +
                                  "; compile the model again");
}

/// Each step of a walk goes to the node's left child or to the next node, and reads its feature.
bool are_nodes_inside(const TreeView& view) {
  const TreeNodes walk = view.walk();
  const auto count = static_cast<std::int64_t>(view.nodes.size());
  std::int64_t outside = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto link = static_cast<std::uint32_t>(view.nodes[static_cast<std::size_t>(i)] >> 32);
    const std::int64_t left = i + (static_cast<std::int32_t>(link) >> walk.child_shift);
    const std::int64_t feature = (link & walk.feature_mask) / 4;
    outside |= left | (count - 2 - left) | (view.num_features() - 1 - feature);
  }
  return outside >= 0;
}

template <typename T>
bool are_below(std::span<const T> list, std::int64_t limit) {
  return std::ranges::all_of(list, [limit](T value) {
    return static_cast<std::int64_t>(value) >= 0 && static_cast<std::int64_t>(value) < limit;
  });
}

bool are_splits_inside(const TreeView& view) {
  std::uint32_t last = 0;
  for (const std::uint32_t end : view.split_ends) {
    if (end < last || end > view.splits.size()) return false;
    last = end;
  }
  return true;
}

Status check(const sluice_op& op, const TreeView& view, const Counts& counts) {
  const sluice_tensor& x = op.inputs[0].tensor;
  if (!are_nodes_inside(view)) return misfit(op, "a node outside their list");
  if (!are_below(view.roots, counts.words)) return misfit(op, "a root outside their list");
  if (!are_below(view.depths, counts.words)) return misfit(op, "a depth that no tree has");
  if (!are_below(view.targets, counts.targets)) return misfit(op, "an unknown target");
  if (!are_below(view.columns, x.dims[x.rank - 1])) return misfit(op, "a feature that X lacks");
  if (!are_splits_inside(view)) return misfit(op, "splits outside their list");
  if (view.has_rows && !are_below(view.values, counts.rows)) {
    return misfit(op, "weights outside their list");
  }
  return plugin::ok();
}

}  // namespace

std::int64_t packed_trees_bytes(const sluice_op& op) {
  const auto counts = counts_of(op);
  TreeView none;
  return counts ? Sections(*counts).each(none, [](auto&, std::int64_t, std::int64_t) {}) : 0;
}

void pack_trees(const sluice_op& op, void* to) {
  Header header = {};
  std::memcpy(to, &header, sizeof header);
  const auto counts = counts_of(op);
  reference::Ensemble ensemble;
  TreeTable table;
  if (!counts || !reference::read_ensemble(op, &ensemble).is_ok() ||
      !TreeTable::make(ensemble, counts->features, counts->is_double, &table).is_ok() ||
      !fits(table, *counts)) {
    return;
  }
  auto* bytes = static_cast<std::byte*>(to);
  Sections(*counts).each(table, [&](const auto& list, std::int64_t count, std::int64_t offset) {
    const std::size_t used = list.size() * sizeof(*list.data());
    const std::size_t all = static_cast<std::size_t>(count) * sizeof(*list.data());
    if (used > 0) std::memcpy(bytes + offset, list.data(), used);
    std::memset(bytes + offset + used, 0, all - used);
  });
  header = {kMark,
            static_cast<std::uint32_t>(table.columns.size()),
            static_cast<std::uint32_t>(table.splits.size()),
            table.child_shift,
            table.is_flagged,
            table.rules.is_probability,
            table.rules.has_one_class,
            {}};
  std::memcpy(to, &header, sizeof header);
}

Status view_packed_trees(const sluice_op& op, TreeView* view) {
  const auto counts = counts_of(op);
  const sluice_operand& operand = op.inputs[kTreesInput];
  const auto* bytes = static_cast<const std::byte*>(operand.packed);
  if (!counts || operand.packed_bytes != packed_trees_bytes(op) ||
      reinterpret_cast<std::uintptr_t>(bytes) % alignof(std::uint64_t) != 0) {
    return misfit(op, "another size");
  }
  Header header;
  std::memcpy(&header, bytes, sizeof header);
  if (header.mark != kMark || header.num_features < 1 || header.num_features > counts->features ||
      header.num_splits > counts->splits || header.child_shift < 2 || header.child_shift > 22) {
    return misfit(op, "another form");
  }
  Sections(*counts).each(
      *view, [&]<typename T>(std::span<const T>& list, std::int64_t count, std::int64_t offset) {
        list = {reinterpret_cast<const T*>(bytes + offset), static_cast<std::size_t>(count)};
      });
  view->columns = view->columns.first(header.num_features);
  view->splits = view->splits.first(header.num_splits);
  if (counts->is_double) view->split_ends = view->split_ends.first(header.num_features);
  view->num_empty = static_cast<std::size_t>(counts->empty);
  view->has_rows = counts->rows > 0;
  view->child_shift = header.child_shift;
  view->is_flagged = header.is_flagged != 0;
  view->rules = reference::read_tree_rules(op);
  view->rules.is_probability = header.is_probability != 0;
  view->rules.has_one_class =
      header.has_one_class != 0 && view->rules.is_classifier && counts->targets == 2;
  return check(op, *view, *counts);
}

}  // namespace sluice::cpu
