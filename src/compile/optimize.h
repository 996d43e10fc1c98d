// Running passes with what backends accept and constants compute.
#pragma once

#include <span>

#include "backend/registry.h"
#include "compile/placement.h"
#include "passes/pass.h"

namespace sluice::compile {

/// Runs `passes` on the graph; operations are fused only if a backend that
/// `placement` allows for all of them accepts the result.
/// `observe` may be null. Needs the backend "reference" in the registry for folding constants;
/// without it none are folded. Fails: what passes report.
Status optimize(ir::Graph& graph, std::span<const passes::Pass> passes,
                const backend::BackendRegistry& registry, const Placement& placement,
                passes::Observer observe = {});

/// The backends of these names, in their order.
/// Fails: kNotFound.
Result<std::vector<std::shared_ptr<const backend::Backend>>> find_backends(
    const backend::BackendRegistry& registry, std::span<const std::string> names);

}  // namespace sluice::compile
