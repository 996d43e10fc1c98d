// Tree ensembles.

#include <algorithm>
#include <bit>
#include <cstdio>

#include "ops/ml/packed_trees.h"
#include "ops/ml/tree_table.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::unimplemented;

constexpr std::int64_t kLanes = kTreeLanes;
/// Rows that are walked through one tree before the next, so that its nodes are read once.
constexpr std::int64_t kRowsAtOnce = 8 * kLanes;
/// With fewer rows than this, each worker walks all of them through its share of the trees: groups
/// of kLanes rows through a tree at a time, the rows that are left one by one through several.
constexpr std::int64_t kFewRows = 2 * kLanes;
/// So many rows make a group: one by one they take longer than kLanes together.
constexpr std::int64_t kGroupRows = kLanes - 1;

bool is_classifier(const sluice_op& op) { return op.num_outputs == 2; }

Status check_trees(const sluice_op& op) {
  if (op.body != nullptr) return unimplemented("fused body");
  const sluice_tensor& x = op.inputs[0].tensor;
  const bool is_read = x.element_type == plugin::kF32 || x.element_type == plugin::kI64 ||
                       x.element_type == plugin::kI32 || x.element_type == plugin::kF64;
  if (!is_read || x.layout != SLUICE_LAYOUT_ROW_MAJOR) return unimplemented("features");
  if (x.rank < 1 || x.rank > 2) return plugin::invalid_argument("X must have rank 1 or 2");
  const sluice_tensor& scores = op.outputs[is_classifier(op) ? 1 : 0].tensor;
  if (!plugin::is_absent(scores) && scores.element_type != plugin::kF32) {
    return unimplemented("scores that are no f32");
  }
  const plugin::Attributes attributes(op);
  if (is_classifier(op) && attributes.get_ints("classlabels_int64s").empty()) {
    return unimplemented("labels that are strings");
  }
  return plugin::ok();
}

/// As above for trees in a table, which a backend accepts only if its kernel takes them.
Status check_table(const sluice_op& op) {
  if (Status status = check_trees(op); !status.is_ok()) return status;
  if (op.num_inputs != 2 || op.inputs[kTreesInput].is_constant == 0) {
    return unimplemented("a table that is not constant");
  }
  const auto aggregate = plugin::Attributes(op).get_text("aggregate_function", "SUM");
  if (aggregate != "SUM" && aggregate != "AVERAGE") {
    return unimplemented("trees whose least or largest counts");
  }
  return packed_trees_bytes(op) > 0 ? plugin::ok() : unimplemented("trees of that size");
}

class Trees : public Kernel {
 public:
  Trees(const sluice_op& op, Isa isa, TreeTable table) : Trees(op, isa, table.view()) {
    table_ = std::move(table);  // its lists stay where `trees_` has them
  }
  Trees(const sluice_op& op, Isa isa, TreeView trees)
      : Kernel(op),
        trees_(std::move(trees)),
        walk_rows_(SLUICE_CPU_PICK(isa, walk_rows)),
        walk_trees_(SLUICE_CPU_PICK(isa, walk_trees)),
        split_keys_(SLUICE_CPU_PICK(isa, split_keys)),
        x_(op.inputs[0].tensor),
        rows_(x_.rank == 1 ? 1 : x_.dims[0]),
        columns_(x_.dims[x_.rank - 1]),
        targets_(trees_.rules.num_targets) {
    for (const std::int32_t depth : trees_.depths) steps_ += depth + 2;
  }

  /// Sums first, then outputs, because few rows are summed by parts.
  int phases() const override { return 2; }

  void run(const Run& run, int phase, const Worker& worker) const override {
    if (phase == 0 && rows_ < kFewRows) return sum_trees(run, worker);
    if (phase == 0) return sum_rows(run, worker);
    if (rows_ < kFewRows) add_parts(run, worker);
    finish(run, worker);
  }

  std::int64_t scratch_bytes() const override {
    const std::int64_t rows = rows_ < kFewRows ? std::max(rows_, kLanes) : kRowsAtOnce;
    return (trees_.num_features() * rows * 4 + targets_ * 8 + 127) / 64 * 64;
  }
  std::int64_t shared_bytes() const override {
    return rows_ * targets_ * 4 * (rows_ < kFewRows ? kMaxParts : 1) + 64;
  }
  void extents(Extents& extents) const override {
    const int scores = is_classifier(op()) ? 1 : 0;
    extents.reads(0, {rows_, columns_, plugin::element_bits(x_.element_type) / 8});
    if (!plugin::is_absent(op().outputs[scores].tensor)) {
      extents.writes(scores, {rows_, targets_, sizeof(float)});
    }
    if (scores == 1 && !plugin::is_absent(op().outputs[0].tensor)) {
      extents.writes(0, {rows_, sizeof(std::int64_t)});
    }
  }
  double cost_ns() const override { return static_cast<double>(rows_ * steps_) * 0.7; }

 private:
  static constexpr std::int64_t kMaxParts = 16;

  float* sums(const Run& run) const { return reinterpret_cast<float*>(run.shared()); }

  /// Features of `count` rows from `first` on, as keys: to[feature * pitch + row * step].
  void read(const Run& run, std::int64_t first, std::int64_t count, std::int32_t* to,
            std::int64_t pitch, std::int64_t step) const {
    const auto copy = [&](const auto* from) {
      for (std::int64_t r = 0; r < count; ++r) {
        const auto* row = from + (first + r) * columns_;
        for (std::int64_t f = 0; f < trees_.num_features(); ++f) {
          const auto value = row[trees_.columns[static_cast<std::size_t>(f)]];
          to[f * pitch + r * step] = tree_key(static_cast<float>(value));
        }
      }
    };
    if (x_.element_type == plugin::kF64) {
      return find_places(run.input<double>(0) + first * columns_, count, to, pitch, step);
    }
    if (x_.element_type == plugin::kF32) copy(run.input<float>(0));
    if (x_.element_type == plugin::kI64) copy(run.input<std::int64_t>(0));
    if (x_.element_type == plugin::kI32) copy(run.input<std::int32_t>(0));
  }

  /// The same with keys that are places among the splits.
  void find_places(const double* rows, std::int64_t count, std::int32_t* to, std::int64_t pitch,
                   std::int64_t step) const {
    for (std::size_t f = 0; f < trees_.columns.size(); ++f, to += pitch) {
      const auto splits = splits_of(trees_.splits, trees_.split_ends, f);
      split_keys_(splits.data(), static_cast<std::int64_t>(splits.size()), rows + trees_.columns[f],
                  columns_, count, to, step);
    }
  }

  /// Features of up to kLanes of `left` rows, as walk_rows takes them; gives how many rows.
  std::int64_t read_group(const Run& run, std::int64_t first, std::int64_t left,
                          std::int32_t* to) const {
    // Rows are taken in groups while a group is nearly full, then one by one.
    const std::int64_t there = std::min(kLanes, left);
    if (there < kLanes) std::fill(to, to + kLanes * trees_.num_features(), 0);
    read(run, first, there, to, kLanes, 1);
    return there;
  }

  void add(std::size_t tree, std::uint32_t end, float* sum) const {
    const std::uint32_t value = trees_.values[end];
    if (!trees_.has_rows) {
      sum[trees_.targets[tree]] += std::bit_cast<float>(value);
      return;
    }
    const float* row = trees_.rows.data() + std::int64_t{value} * targets_;
    for (std::int64_t t = 0; t < targets_; ++t) sum[t] += row[t];
  }

  /// A part of the trees for every row; each worker sums on its own.
  void sum_trees(const Run& run, const Worker& worker) const {
    if (worker.index >= kMaxParts) return;
    const Worker capped = {worker.index, std::min<int>(worker.count, kMaxParts), worker.scratch};
    const Share share = share_of(trees_.num_trees(), kLanes, capped);
    const auto begin = static_cast<std::size_t>(share.begin);
    const auto end = static_cast<std::size_t>(share.end);
    auto* features = reinterpret_cast<std::int32_t*>(worker.scratch);
    float* sum = sums(run) + worker.index * rows_ * targets_;
    std::fill(sum, sum + rows_ * targets_, 0.0F);
    std::int64_t r = 0;
    while (r + kGroupRows <= rows_) {
      const std::int64_t there = read_group(run, r, rows_ - r, features);
      for (std::size_t tree = std::max(begin, trees_.num_empty); tree < end; ++tree) {
        add_rows(tree, features, there, sum);
      }
      r += there;
      sum += there * targets_;
    }
    read(run, r, rows_ - r, features, 1, trees_.num_features());
    for (; r < rows_; ++r, sum += targets_, features += trees_.num_features()) {
      for (std::size_t tree = begin; tree < end; tree += kLanes) add_trees(tree, features, sum);
    }
  }

  /// One tree for `count` rows, at most kLanes; `features` is [num_features][kLanes].
  void add_rows(std::size_t tree, const std::int32_t* features, std::int64_t count,
                float* sum) const {
    std::uint32_t ends[kLanes];
    walk_rows_(trees_.walk(), trees_.roots[tree], trees_.depths[tree], features, ends);
    for (std::int64_t lane = 0; lane < count; ++lane) add(tree, ends[lane], sum + lane * targets_);
  }

  /// kLanes trees from `first` on for one row.
  void add_trees(std::size_t first, const std::int32_t* features, float* sum) const {
    std::uint32_t ends[kLanes];
    walk_trees_(trees_.walk(), &trees_.roots[first], trees_.depths[first + kLanes - 1], features,
                ends);
    for (std::size_t lane = 0; lane < kLanes; ++lane) add(first + lane, ends[lane], sum);
  }

  void add_parts(const Run& run, const Worker& worker) const {
    const Share share = share_of(rows_ * targets_, targets_, worker);
    const int parts = std::min<int>(worker.count, kMaxParts);
    float* all = sums(run);
    for (int part = 1; part < parts; ++part) {
      for (std::int64_t i = share.begin; i < share.end; ++i) {
        all[i] += all[part * rows_ * targets_ + i];
      }
    }
  }

  /// All trees for a part of the rows.
  void sum_rows(const Run& run, const Worker& worker) const {
    const Share share = share_of(rows_, kLanes, worker);
    auto* features = reinterpret_cast<std::int32_t*>(worker.scratch);
    for (std::int64_t first = share.begin; first < share.end; first += kRowsAtOnce) {
      sum_block(run, features, first, std::min(kRowsAtOnce, share.end - first));
    }
  }

  void sum_block(const Run& run, std::int32_t* features, std::int64_t first,
                 std::int64_t count) const {
    for (std::int64_t r = 0; r < count; r += kLanes) {
      read_group(run, first + r, count - r, features + r * trees_.num_features());
    }
    float* sum = sums(run) + first * targets_;
    std::fill(sum, sum + count * targets_, 0.0F);
    for (std::size_t tree = trees_.num_empty; tree < trees_.roots.size(); ++tree) {
      for (std::int64_t r = 0; r < count; r += kLanes) {
        add_rows(tree, features + r * trees_.num_features(), std::min(kLanes, count - r),
                 sum + r * targets_);
      }
    }
  }

  void finish(const Run& run, const Worker& worker) const {
    const Share share = share_of(rows_, 1, worker);
    auto* scores = reinterpret_cast<double*>(worker.scratch);
    const auto size = static_cast<std::size_t>(targets_);
    const bool has_labels = is_classifier(op());
    const auto labels = plugin::Attributes(op()).get_ints("classlabels_int64s");
    auto* y = run.output<float>(has_labels ? 1 : 0);
    for (std::int64_t r = share.begin; r < share.end; ++r) {
      std::copy_n(sums(run) + r * targets_, size, scores);
      const std::size_t best = trees_.rules.finish({scores, size}, trees_.has_score);
      if (y != nullptr) std::copy_n(scores, size, y + r * targets_);
      if (has_labels && run.output<std::int64_t>(0) != nullptr) {
        run.output<std::int64_t>(0)[r] = labels[best];
      }
    }
  }

  TreeTable table_;  ///< empty where the host keeps the packed trees
  TreeView trees_;
  decltype(&portable::walk_rows) walk_rows_;
  decltype(&portable::walk_trees) walk_trees_;
  decltype(&portable::split_keys) split_keys_;
  const sluice_tensor& x_;
  std::int64_t rows_, columns_, targets_;
  std::int64_t steps_ = 0;  ///< levels of all trees, plus the final aggregation
};

/// Each row has a score for each target.
Status check_scores(const sluice_op& op, const reference::TreeRules& rules) {
  const sluice_tensor& x = op.inputs[0].tensor;
  const sluice_tensor& scores = op.outputs[is_classifier(op) ? 1 : 0].tensor;
  const std::int64_t rows = x.rank == 1 ? 1 : x.dims[0];
  if (plugin::is_absent(scores) || plugin::num_elements(scores) == rows * rules.num_targets) {
    return plugin::ok();
  }
  return plugin::invalid_argument("the scores have another shape than the trees' targets");
}

/// There is a number for each class.
Status check_labels(const sluice_op& op, const reference::TreeRules& rules) {
  const auto labels = plugin::Attributes(op).get_ints("classlabels_int64s");
  if (!is_classifier(op) || std::ssize(labels) >= rules.num_targets) return plugin::ok();
  return unimplemented("labels of two kinds");
}

Status make_trees(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  const sluice_tensor& x = op.inputs[0].tensor;
  reference::Ensemble ensemble;
  if (Status status = reference::read_ensemble(op, &ensemble); !status.is_ok()) return status;
  TreeTable table;
  if (Status status =
          TreeTable::make(ensemble, x.dims[x.rank - 1], x.element_type == plugin::kF64, &table);
      !status.is_ok()) {
    return status;
  }
  if (Status status = check_scores(op, table.rules); !status.is_ok()) return status;
  if (Status status = check_labels(op, table.rules); !status.is_ok()) return status;
  *kernel = std::make_unique<Trees>(op, isa, std::move(table));
  return plugin::ok();
}

Status make_packed_trees(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  if (op.inputs[kTreesInput].packed == nullptr) return make_trees(op, isa, kernel);
  TreeView trees;
  if (Status status = view_packed_trees(op, &trees); !status.is_ok()) return status;
  if (Status status = check_scores(op, trees.rules); !status.is_ok()) return status;
  if (Status status = check_labels(op, trees.rules); !status.is_ok()) return status;
  *kernel = std::make_unique<Trees>(op, isa, std::move(trees));
  return plugin::ok();
}

sluice_packing table_packing(const sluice_op& op, int input, Isa /*isa*/) {
  sluice_packing packing = {};
  if (input != kTreesInput) return packing;
  packing.size_bytes = packed_trees_bytes(op);
  const bool is_double = op.inputs[0].tensor.element_type == plugin::kF64;
  std::snprintf(packing.format, sizeof packing.format, "trees1/%s", is_double ? "f64" : "f32");
  return packing;
}

void pack_table(const sluice_op& op, int /*input*/, Isa /*isa*/, void* packed) {
  pack_trees(op, packed);
}

}  // namespace

std::vector<OpEntry> tree_entries() {
  std::vector<OpEntry> entries;
  for (const char* kind : {"TreeEnsemble", "TreeEnsembleRegressor", "TreeEnsembleClassifier"}) {
    entries.push_back(
        {.domain = "ai.onnx.ml", .kind = kind, .check = check_trees, .make = make_trees});
  }
  for (const char* kind : {"TreeRegressor", "TreeClassifier"}) {
    entries.push_back({.domain = "sluice",
                       .kind = kind,
                       .check = check_table,
                       .make = make_packed_trees,
                       .packing = table_packing,
                       .pack = pack_table});
  }
  return entries;
}

}  // namespace sluice::cpu
