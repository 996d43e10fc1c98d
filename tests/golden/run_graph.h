// Compiles a graph and runs it, and compares what comes out.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "exec/loaded_model.h"
#include "golden/golden_case.h"
#include "golden/variants.h"

namespace sluice::golden {

/// Elements of an output, and their type and shape.
struct Values {
  ir::ElementType element = ir::ElementType::kUndefined;
  std::vector<std::int64_t> dims;
  std::vector<double> numbers;
};

class GraphRunner {
 public:
  /// On one core.
  static Result<GraphRunner> create(const ir::Graph& graph, const std::string& backend,
                                    bool optimize);
  Result<std::vector<Values>> run(std::vector<HostTensor> inputs) const;

 private:
  explicit GraphRunner(exec::LoadedModel model) : model_(std::move(model)) {}
  exec::LoadedModel model_;
};

/// Whether an operation of the main subgraph that sums makes infinities or numbers near the largest
/// out of numbers. Which it makes depends on the order of the sum. Computed on `reference`.
Result<bool> overflows(const ir::Graph& graph, const std::vector<HostTensor>& inputs);

/// Names of the passes of the default pipeline that change the graph, compiled for `cpu`.
std::set<std::string> passes_that_rewrite(const ir::Graph& graph);

/// What an output must be.
struct Comparison {
  const Values& exact;
  /// Results for inputs that differ by rounding: rows that these move are not compared.
  const Values* twins[2];
  Slack slack;
  bool may_overflow = false;  ///< infinities, NaN and numbers near them are one then

  /// The first difference as text, or nothing. Numbers that `other` has wrong as well are left
  /// out; null: none.
  std::string find_difference(const Values& actual, const Values* other) const;

 private:
  bool is_near(double number, std::size_t at, double share) const;
  bool is_sure_of_row(std::size_t at) const;
};

}  // namespace sluice::golden
