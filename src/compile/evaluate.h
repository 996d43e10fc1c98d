// Computes operations on constants, through a backend's kernels.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "backend/group.h"
#include "ir/graph.h"

namespace sluice::compile {

/// Owns one core of a backend for the time of a compilation. Used by one thread.
class Evaluator {
 public:
  static Result<Evaluator> create(std::shared_ptr<const backend::Backend> backend);

  /// One constant per output; an absent output gives an empty one.
  /// Requires: the present inputs are constants, the outputs' types are inferred.
  /// Fails: kUnimplemented  a result is not static, no f32/integer tensor of known size, or the
  ///                        backend does not take the operation; what its kernel reports
  Result<std::vector<ir::Constant>> run(const ir::Graph& graph, const ir::Subgraph& subgraph,
                                        const ir::Operation& operation) const;

 private:
  Evaluator(std::shared_ptr<const backend::Backend> backend,
            std::shared_ptr<const backend::Group> group)
      : backend_(std::move(backend)), group_(std::move(group)) {}
  std::shared_ptr<const backend::Backend> backend_;
  std::shared_ptr<const backend::Group> group_;
};

}  // namespace sluice::compile
