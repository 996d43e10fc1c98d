// Changes to a subgraph that keep a matcher's index current, so that a pass indexes a subgraph
// once.
#pragma once

#include <vector>

#include "passes/match.h"

namespace sluice::passes {

/// All changes of operations go through it while it lives; a change costs what it touches. Operands
/// may be added and their types changed without it.
class Rewriter {
 public:
  explicit Rewriter(ir::Subgraph& subgraph) : subgraph_(subgraph), matcher_(subgraph) {}

  const Matcher& matcher() const { return matcher_; }
  ir::Subgraph& subgraph() { return subgraph_; }

  void replace(ir::OperationId at, ir::Operation operation);
  void insert(ir::OperationId before, ir::Operation operation);
  void remove(ir::OperationId at);

  /// Drops operations and optional outputs that nothing reads, as `passes::sweep`: the first call
  /// looks at the whole subgraph, the others at what has changed since.
  void sweep();

 private:
  void forget(ir::OperationId at);
  void note_unread(const ir::Operation& operation);
  void sweep_producer(ir::OperandId unread);

  ir::Subgraph& subgraph_;
  Matcher matcher_;
  std::vector<ir::OperandId> maybe_unread_;  // since the last sweep
  bool is_swept_ = false;
};

}  // namespace sluice::passes
