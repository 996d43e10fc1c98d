// Which backend runs which operation.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "ir/graph.h"

namespace sluice::compile {

class Placement;

using Backends = std::span<const std::shared_ptr<const backend::Backend>>;

/// By subgraph, one entry per operation in order: the first backend that accepts it of those
/// that `placement` allows; -1 for views and the executor's own steps, which need no kernel. Empty
/// for fused bodies.
/// Fails: kUnimplemented    every operator that no backend accepts, its nodes and the reason; every
///                          node whose rule allows only backends that refuse it, and who takes it
///        kInvalidArgument  a rule that decides for no operation
Result<std::vector<std::vector<std::int16_t>>> assign_backends(const ir::Graph& graph,
                                                               const Placement& placement);

}  // namespace sluice::compile
