#include "compile/optimize.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compile/evaluate.h"
#include "passes/pass_manager.h"

namespace sluice::compile {
namespace {

bool supports(const backend::Backend& backend, const ir::Graph& graph, const ir::Subgraph& subgraph,
              const ir::Operation& operation) {
  const auto op = backend::Op::create({graph, subgraph, operation});
  if (!op.is_ok()) return false;
  const auto support = backend.query(*op);
  return support.is_ok() && support->is_supported;
}

/// Whether the backend takes the parts that were fused into a body, each for itself.
bool supports_parts(const backend::Backend& backend, const ir::Graph& graph,
                    const ir::Subgraph& subgraph, const ir::Operation& operation) {
  if (operation.domain != "sluice") {
    ir::Operation alone = operation;
    alone.body.reset();
    if (!supports(backend, graph, subgraph, alone)) return false;
  }
  const ir::Subgraph& body = graph.subgraph(operation.body->subgraph);
  return std::ranges::all_of(body.order(), [&](ir::OperationId id) {
    return supports(backend, graph, body, body.operation(id));
  });
}

/// `takes` says of a backend's support whether it is enough. A fused body never moves an operation
/// to a backend after the one that takes its parts.
template <typename Takes>
bool is_taken(const ir::Graph& graph, const ir::Subgraph& subgraph, const ir::Operation& operation,
              const Placement& placement, const Takes& takes) {
  if (!placement.is_uniform(graph, operation)) return false;
  const auto op = backend::Op::create({graph, subgraph, operation});
  if (!op.is_ok()) return false;
  for (const std::int16_t index : placement.candidates(graph, operation)) {
    const backend::Backend& backend = *placement.backends()[static_cast<std::size_t>(index)];
    const auto support = backend.query(*op);
    if (support.is_ok() && support->is_supported && takes(*support)) return true;
    if (operation.body && supports_parts(backend, graph, subgraph, operation)) return false;
  }
  return false;
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
  // Whether the backend that takes the operation does so in the way that is asked for.
  const auto is_taken_by_first = [&](auto has) {
    return [&placement, has](const ir::Graph& whole, const ir::Subgraph& subgraph,
                             const ir::Operation& operation) {
      bool is_wanted = false;
      is_taken(whole, subgraph, operation, placement, [&](const backend::OpSupport& support) {
        is_wanted = has(support);
        return true;
      });
      return is_wanted;
    };
  };
  context.taker_has_kernel =
      is_taken_by_first([](const backend::OpSupport& support) { return !support.is_generic; });
  context.native_halves =
      is_taken_by_first([](const backend::OpSupport& support) { return support.native_halves; });
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
