// Which backend runs which operation.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "ir/graph.h"

namespace sluice::compile {

using Backends = std::span<const std::shared_ptr<const backend::Backend>>;

/// By subgraph that runs, one entry per operation in order: the first of `backends` that takes it;
/// -1 for views and the executor's own steps, which need no kernel. Empty for fused bodies.
/// Fails: kUnimplemented with every operator that none takes, its nodes and the reason.
Result<std::vector<std::vector<std::int16_t>>> assign_backends(const ir::Graph& graph,
                                                               Backends backends);

}  // namespace sluice::compile
