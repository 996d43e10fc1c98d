// TreeEnsemble, TreeEnsembleRegressor, TreeEnsembleClassifier; TreeRegressor, TreeClassifier.
#include <algorithm>

#include "reference/families.h"
#include "reference/kernels/ml/ensemble.h"
#include "reference/kernels/support.h"

namespace sluice::reference {
namespace {

/// Aggregated weights of one row, in f32 steps unless features are f64.
struct RowScores {
  std::vector<double> scores;
  std::vector<std::uint8_t> has_score;
  bool is_f64 = false;

  void add(TreeAggregate aggregate, const TreeWeight& weight) {
    double& score = scores[index(weight.target)];
    const bool is_first = has_score[index(weight.target)] == 0;
    has_score[index(weight.target)] = 1;
    if (aggregate == TreeAggregate::kMin) {
      score = is_first ? weight.weight : std::min(score, weight.weight);
    } else if (aggregate == TreeAggregate::kMax) {
      score = is_first ? weight.weight : std::max(score, weight.weight);
    } else {
      score += weight.weight;
      if (!is_f64) score = static_cast<float>(score);
    }
  }
};

Status run_trees(const Call& call) {
  Ensemble ensemble;
  if (Status status = read_ensemble(call.op(), &ensemble); !status.is_ok()) return status;
  FeatureRows rows;
  if (Status status = read_rows(call, &rows); !status.is_ok()) return status;
  const TreeRules& rules = ensemble.rules;
  if (size_of(output_dims(call, rules.is_classifier ? 1 : 0)) != rows.rows * rules.num_targets) {
    return refuse(call, "the scores have another shape than the trees' targets");
  }
  for (const TreeNode& node : ensemble.nodes) {
    if (node.feature >= rows.columns) return refuse(call, "a node's feature is outside X");
  }
  std::vector<double> results;
  std::vector<std::size_t> classes;
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    RowScores row = {std::vector<double>(index(rules.num_targets)),
                     std::vector<std::uint8_t>(index(rules.num_targets)),
                     call.input(0).element_type == plugin::kF64};
    for (const std::int32_t root : ensemble.roots) {
      const TreeNode& leaf = find_leaf(ensemble, root, rows.row(i));
      for (std::int32_t w = 0; w < leaf.count; ++w) {
        row.add(rules.aggregate, ensemble.weights[index(leaf.first + w)]);
      }
    }
    classes.push_back(rules.finish(row.scores, row.has_score));
    results.insert(results.end(), row.scores.begin(), row.scores.end());
  }
  if (!rules.is_classifier) return write_doubles(call, 0, results);
  if (Status status = write_doubles(call, 1, results); !status.is_ok()) return status;
  if (!call.has_output(0)) return plugin::ok();
  return LabelWriter(call, "classlabels_int64s", "classlabels_strings").write(classes);
}

Status check_trees(const sluice_op& op) {
  Ensemble ensemble;
  return read_ensemble(op, &ensemble);
}

}  // namespace

std::vector<KernelEntry> tree_kernels() {
  std::vector<KernelEntry> entries;
  for (const char* kind : {"TreeEnsemble", "TreeEnsembleRegressor", "TreeEnsembleClassifier"}) {
    entries.push_back({"ai.onnx.ml", kind, run_trees, check_trees});
  }
  for (const char* kind : {"TreeRegressor", "TreeClassifier"}) {
    entries.push_back({"sluice", kind, run_trees, check_trees});
  }
  return entries;
}

}  // namespace sluice::reference
