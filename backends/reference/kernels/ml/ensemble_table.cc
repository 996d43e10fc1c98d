#include "reference/kernels/ml/ensemble_table.h"

#include <limits>
#include <string>

#include "reference/kernels/support.h"

namespace sluice::reference {
namespace {

constexpr std::int64_t kColumns = 5;
constexpr std::int64_t kMaxRows = std::numeric_limits<std::int32_t>::max();

Status misfit(const sluice_op& op, const std::string& what) {
  return plugin::invalid_argument(plugin::kind_of(op) + ": " + what);
}

/// A number that is to be an index below `limit`; NaN is none.
bool read_index(double value, std::int64_t limit, std::int32_t* to) {
  if (!(value >= 0 && value < static_cast<double>(limit))) return false;
  *to = static_cast<std::int32_t>(value);
  return true;
}

class TableReader {
 public:
  TableReader(const sluice_op& op, Ensemble& ensemble)
      : op_(op), attributes_(op), ensemble_(ensemble) {}

  Status run() {
    if (op_.num_inputs < 2) return misfit(op_, "its table is missing");
    const sluice_tensor& table = op_.inputs[1].tensor;
    if (table.data == nullptr || table.element_type != plugin::kF64 || table.rank != 2 ||
        table.dims[1] != kColumns || table.dims[0] < 1 || table.dims[0] > kMaxRows) {
      return misfit(op_, "its table must be a constant f64[rows,5]");
    }
    values_ = plugin::elements<const double>(table);
    num_rows_ = table.dims[0];
    num_nodes_ = attributes_.get_int("num_nodes");
    num_features_ = attributes_.get_int("num_features");
    further_ = attributes_.get_int("leaf_weights") - 1;
    if (num_nodes_ < 1 || num_nodes_ > num_rows_ || further_ < 0 || further_ > num_rows_) {
      return misfit(op_, "its table has another number of rows");
    }
    return read();
  }

 private:
  Status read() {
    for (std::int64_t i = 0; i < num_nodes_; ++i) {
      TreeNode node;
      const double* row = row_at(i);
      const bool fits = row[0] == kLeaf ? read_leaf(row, node) : read_branch(row, i, node);
      if (!fits) return misfit(op_, "row " + std::to_string(i) + " of its table is no node");
      ensemble_.nodes.push_back(node);
    }
    for (const std::int64_t root : attributes_.get_ints("roots")) {
      if (root < 0 || root >= num_nodes_) return misfit(op_, "a root does not exist");
      ensemble_.roots.push_back(static_cast<std::int32_t>(root));
    }
    return plugin::ok();
  }

  bool read_branch(const double* row, std::int64_t place, TreeNode& node) const {
    std::int32_t test = 0;
    if (!read_index(row[0], static_cast<std::int64_t>(TreeTest::kMember), &test)) return false;
    node.test = static_cast<TreeTest>(test);
    node.split = row[2];
    node.takes_missing = row[4] != 0;
    if (!read_index(row[1], num_features_, &node.feature)) return false;
    // Children lie behind their parent, so that no walk goes in a circle; both are neighbours.
    if (!read_index(row[3], num_nodes_ - 1, &node.on_true) || node.on_true <= place) return false;
    node.on_false = node.on_true + 1;
    return true;
  }

  bool read_leaf(const double* row, TreeNode& node) {
    std::int32_t more = 0;
    // Where `further_` rows still fit behind the nodes.
    const std::int64_t limit = num_rows_ - num_nodes_ - further_ + 1;
    if (further_ > 0 && !read_index(row[3], limit, &more)) return false;
    node.test = TreeTest::kLeaf;
    node.first = static_cast<std::int32_t>(ensemble_.weights.size());
    node.count = static_cast<std::int32_t>(further_ + 1);
    if (!add_weight(row)) return false;
    for (std::int64_t i = 0; i < further_; ++i) {
      if (!add_weight(row_at(num_nodes_ + more + i))) return false;
    }
    return true;
  }

  bool add_weight(const double* row) {
    // Leaves that share rows of weights could make far more weights than the table has rows.
    if (static_cast<std::int64_t>(ensemble_.weights.size()) >= num_rows_) return false;
    TreeWeight& weight = ensemble_.weights.emplace_back();
    weight.weight = row[2];
    return read_index(row[1], ensemble_.rules.num_targets, &weight.target);
  }

  const double* row_at(std::int64_t row) const { return values_.data() + row * kColumns; }

  static constexpr double kLeaf = static_cast<double>(TreeTest::kLeaf);
  const sluice_op& op_;
  plugin::Attributes attributes_;
  Ensemble& ensemble_;
  std::span<const double> values_;
  std::int64_t num_rows_ = 0;
  std::int64_t num_nodes_ = 0;
  std::int64_t num_features_ = 0;
  std::int64_t further_ = 0;  ///< weights of each leaf but its first
};

}  // namespace

Status read_table(const sluice_op& op, Ensemble* ensemble) {
  return TableReader(op, *ensemble).run();
}

}  // namespace sluice::reference
