// Which backend runs which operation.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "ir/graph.h"

namespace sluice::compile {

using Backends = std::span<const std::shared_ptr<const backend::Backend>>;

/// One entry per operation of the main subgraph, in order: the first of `backends` that takes it;
/// -1 for views, which need no kernel.
/// Fails: kUnimplemented with every operator that none takes, its nodes and the reason.
Result<std::vector<std::int16_t>> assign_backends(const ir::Graph& graph, Backends backends);

}  // namespace sluice::compile
