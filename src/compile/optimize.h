// Running passes with what backends accept and constants compute.
#pragma once

#include <span>

#include "backend/registry.h"
#include "compile/assign.h"
#include "passes/pass.h"

namespace sluice::compile {

/// Runs `passes` on the graph; a fused operation is one that some of `backends` takes. Needs the
/// backend "reference" in the registry for folding constants; without it none are folded.
/// Fails: what passes report.
Status optimize(ir::Graph& graph, std::span<const passes::Pass> passes,
                const backend::BackendRegistry& registry, Backends backends);

/// The backends of these names, in their order. Fails: kNotFound.
Result<std::vector<std::shared_ptr<const backend::Backend>>> find_backends(
    const backend::BackendRegistry& registry, std::span<const std::string> names);

}  // namespace sluice::compile
