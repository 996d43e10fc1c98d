// Small things that most passes need.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ops/control/structure.h"
#include "ops/schema.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace sluice::passes {

/// Calls `rewrite(ir::Subgraph&) -> Result<int>` on each runnable subgraph; gives the sum.
/// `rewrite` may add subgraphs.
template <typename Rewrite>
Result<int> rewrite_subgraphs(ir::Graph& graph, const Rewrite& rewrite) {
  int total = 0;
  for (const ir::SubgraphId id : ops::runnable_subgraphs(graph)) total += SLUICE_TRY(rewrite(id));
  return total;
}

/// Calls `rewrite(ir::Subgraph&, const Matcher&, ir::OperationId) -> bool` on the operations that
/// each runnable subgraph has before; gives how often it was true.
template <typename Rewrite>
Result<int> rewrite_operations(ir::Graph& graph, const Rewrite& rewrite) {
  return rewrite_subgraphs(graph, [&](ir::SubgraphId id) -> Result<int> {
    ir::Subgraph& subgraph = graph.subgraph(id);
    const std::vector<ir::OperationId> order(subgraph.order().begin(), subgraph.order().end());
    const Matcher matcher(subgraph);
    int total = 0;
    for (const ir::OperationId at : order) total += rewrite(subgraph, matcher, at) ? 1 : 0;
    return total;
  });
}

/// Drops operations and optional outputs that nothing reads; ids stay. Gives how many operations.
int sweep(ir::Subgraph& subgraph);

/// Drops the optional outputs that nothing reads: they need not be computed.
void drop_unread_outputs(ir::Operation& operation,
                         const std::function<bool(ir::OperandId)>& is_read);

/// Whether the operation has a schema with that trait.
bool has_trait(const ir::Operation& operation, ops::Trait trait);

/// An operation of ONNX's default domain in the newest form, with default attributes filled in.
/// `output` has its type already. Requires: the operator is in the table and takes these inputs.
ir::Operation make_operation(const ir::Subgraph& subgraph, std::string_view kind,
                             std::vector<ir::OperandId> inputs, ir::OperandId output,
                             ir::Attributes attributes = {});

/// Makes the operation that a pattern with that root computes; nothing where there is none.
using Fusion = std::function<std::optional<ir::Operation>(const Matcher&, const ir::Operation&)>;

/// Replaces each root, an operation of this kind with two inputs and no body, by what `fusion`
/// makes of it, if the type stays that of its first input and a backend accepts it.
Result<int> fuse_roots(ir::Graph& graph, const PassContext& context, std::string_view kind,
                       const Fusion& fusion);

/// A new operand without a name.
ir::OperandId add_operand(ir::Subgraph& subgraph, ir::Type type);

}  // namespace sluice::passes
