#include "compile/optimize.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compile/evaluate.h"
#include "passes/pass_manager.h"

namespace sluice::compile {
namespace {

/// `takes` says of a backend's support whether it is enough.
template <typename Takes>
bool is_taken(const ir::Graph& graph, const ir::Subgraph& subgraph, const ir::Operation& operation,
              const Placement& placement, const Takes& takes) {
  if (!placement.is_uniform(graph, operation)) return false;
  const auto op = backend::Op::create({graph, subgraph, operation});
  if (!op.is_ok()) return false;
  return std::ranges::any_of(placement.candidates(graph, operation), [&](std::int16_t index) {
    const auto support = placement.backends()[static_cast<std::size_t>(index)]->query(*op);
    return support.is_ok() && support->is_supported && takes(*support);
  });
}

}  // namespace

Status optimize(ir::Graph& graph, std::span<const passes::Pass> passes,
                const backend::BackendRegistry& registry, const Placement& placement,
                passes::Observer observe) {
  passes::PassContext context;
  context.observe = std::move(observe);
  context.accepts = [&](const ir::Graph& whole, const ir::Subgraph& subgraph,
                        const ir::Operation& operation) {
    return is_taken(whole, subgraph, operation, placement, [&](const backend::OpSupport& support) {
      // A fusion pays off only as a kernel of its own.
      return !support.is_generic || operation.domain != "sluice";
    });
  };
  context.has_kernel = [&](const ir::Graph& whole, const ir::Subgraph& subgraph,
                           const ir::Operation& operation) {
    return is_taken(whole, subgraph, operation, placement,
                    [](const backend::OpSupport& support) { return !support.is_generic; });
  };
  std::optional<Evaluator> evaluator;
  if (const auto reference = registry.find("reference"); reference.is_ok()) {
    evaluator = SLUICE_TRY(Evaluator::create(*reference));
    context.evaluate = [&](const ir::Subgraph& subgraph, const ir::Operation& operation) {
      return evaluator->run(graph, subgraph, operation);
    };
  }
  return passes::run_passes(graph, passes, context).status();
}

Result<std::vector<std::shared_ptr<const backend::Backend>>> find_backends(
    const backend::BackendRegistry& registry, std::span<const std::string> names) {
  std::vector<std::shared_ptr<const backend::Backend>> backends;
  for (const std::string& name : names) backends.push_back(SLUICE_TRY(registry.find(name)));
  return backends;
}

}  // namespace sluice::compile
