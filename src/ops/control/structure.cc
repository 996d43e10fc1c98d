#include "ops/control/structure.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/text/plural.h"

namespace sluice::ops {
namespace {

/// Operand counts of one operation, not yet validated.
struct Counts {
  const ir::Operation& operation;
  std::size_t captures = 0;
  std::size_t own = 0;  ///< inputs before the captures

  template <typename... Args>
  Status error(fmt::format_string<Args...> format, Args&&... args) const {
    return invalid_argument("{}: {}", operation.describe(),
                            fmt::format(format, std::forward<Args>(args)...));
  }
};

const ir::Subgraph* find_subgraph(const ir::Graph& graph, const ir::Operation& operation,
                                  std::string_view attribute) {
  const auto* id = operation.attributes.find<ir::SubgraphId>(attribute);
  const bool exists = id != nullptr && id->is_valid() && id->index() < graph.num_subgraphs();
  return exists ? &graph.subgraph(*id) : nullptr;
}

/// The attribute comes from a file: captures may be missing, or more than there are inputs.
Result<Counts> count(const ir::Operation& operation) {
  Counts counts = {operation};
  const auto captures = operation.attributes.get_or<std::int64_t>("captures", 0);
  if (captures < 0 || static_cast<std::uint64_t>(captures) > operation.inputs.size()) {
    return counts.error("captures {} of {} inputs", captures, operation.inputs.size());
  }
  counts.captures = static_cast<std::size_t>(captures);
  counts.own = operation.inputs.size() - counts.captures;
  for (std::size_t i = counts.own; i < operation.inputs.size(); ++i) {
    if (!operation.inputs[i].is_valid()) return counts.error("a capture is missing");
  }
  return counts;
}

/// `inputs`: without the captures. The operation may leave out its last results.
Status check_body(const ir::Graph& graph, const Counts& counts, std::string_view attribute,
                  std::size_t inputs, std::size_t results_before, std::size_t least_outputs) {
  const ir::Subgraph* body = find_subgraph(graph, counts.operation, attribute);
  if (body == nullptr) return counts.error("attribute \"{}\" must be a graph", attribute);
  if (body->inputs.size() != inputs + counts.captures) {
    return counts.error("\"{}\" takes {} but gets {}", attribute,
                        counted(body->inputs.size(), "input"), inputs + counts.captures);
  }
  // `results_before` counts outputs of the body that the operation does not have: a Loop's
  // condition.
  const std::size_t wanted = results_before + counts.operation.outputs.size();
  if (body->outputs.size() >= std::max(wanted, least_outputs)) return ok_status();
  return counts.error("\"{}\" returns {}; {} are needed", attribute,
                      counted(body->outputs.size(), "output"), std::max(wanted, least_outputs));
}

Status check_if(const ir::Graph& graph, const Counts& counts) {
  if (counts.own != 1)
    return counts.error("has {} inputs; it must have one, the condition", counts.own);
  SLUICE_TRY(check_body(graph, counts, "then_branch", 0, 0, 0));
  return check_body(graph, counts, "else_branch", 0, 0, 0);
}

Status check_loop(const ir::Graph& graph, const Counts& counts) {
  if (counts.own < 2) return counts.error("has no trip count and condition");
  const std::size_t carried = counts.own - 2;
  return check_body(graph, counts, "body", 2 + carried, 1, 1 + carried);
}

/// Version 8 has the lengths of the sequences in front.
Status check_scan(const ir::Graph& graph, const Counts& counts) {
  const std::size_t first = counts.operation.version < 9 ? 1 : 0;
  const auto scanned = counts.operation.attributes.get_or<std::int64_t>("num_scan_inputs", 0);
  if (scanned < 1 || counts.own < first ||
      static_cast<std::uint64_t>(scanned) > counts.own - first) {
    return counts.error("scans {} of {} inputs", scanned, counts.own);
  }
  const std::size_t inputs = counts.own - first;
  return check_body(graph, counts, "body", inputs, 0, inputs - static_cast<std::size_t>(scanned));
}

Status check_sequence_map(const ir::Graph& graph, const Counts& counts) {
  if (counts.own < 1) return counts.error("has no sequence");
  return check_body(graph, counts, "body", counts.own, 0, 0);
}

}  // namespace

/// What follows reads attributes and subgraphs unchecked: check_structure has accepted them.
std::size_t num_own_inputs(const ir::Operation& operation) {
  const auto captures = operation.attributes.get_or<std::int64_t>("captures", 0);
  return operation.inputs.size() - static_cast<std::size_t>(captures);
}

LoopOperands loop_operands(const ir::Graph& graph, const ir::Operation& operation) {
  const std::size_t carried = num_own_inputs(operation) - 2;
  return {carried, find_subgraph(graph, operation, "body")->outputs.size() - 1 - carried};
}

ScanOperands scan_operands(const ir::Graph& graph, const ir::Operation& operation) {
  ScanOperands operands;
  operands.is_batched = operation.version < 9;
  operands.first_state = operands.is_batched ? 1 : 0;
  operands.num_scan_inputs =
      static_cast<std::size_t>(operation.attributes.get_or<std::int64_t>("num_scan_inputs", 0));
  operands.num_states = num_own_inputs(operation) - operands.first_state - operands.num_scan_inputs;
  operands.num_scan_outputs =
      find_subgraph(graph, operation, "body")->outputs.size() - operands.num_states;
  return operands;
}

Status check_structure(const ir::Graph& graph, const ir::Operation& operation) {
  using Check = Status (*)(const ir::Graph&, const Counts&);
  constexpr std::pair<std::string_view, Check> kChecks[] = {
      {"If", check_if},
      {"Loop", check_loop},
      {"Scan", check_scan},
      {"SequenceMap", check_sequence_map},
  };
  for (const auto& [kind, check] : kChecks) {
    if (!operation.domain.empty() || operation.kind != kind) continue;
    return check(graph, SLUICE_TRY(count(operation)));
  }
  const bool captures = operation.attributes.get_or<std::int64_t>("captures", 0) != 0;
  return captures ? Counts{operation}.error("captures values, but runs no graph") : ok_status();
}

std::vector<ir::SubgraphId> runnable_subgraphs(const ir::Graph& graph) {
  std::vector<ir::SubgraphId> found = {ir::SubgraphId(std::size_t{0})};
  std::vector<bool> is_found(graph.num_subgraphs(), false);
  is_found[0] = true;
  const auto add = [&](ir::SubgraphId id) {
    if (is_found[id.index()]) return;
    is_found[id.index()] = true;
    found.push_back(id);
  };
  // `found` grows while it is read: subgraphs of subgraphs follow.
  for (std::size_t i = 0; i < found.size(); ++i) {
    const ir::Subgraph& subgraph = graph.subgraph(found[i]);
    for (const ir::OperationId operation : subgraph.order()) {
      for (const auto& [name, value] : subgraph.operation(operation).attributes) {
        if (const auto* id = std::get_if<ir::SubgraphId>(&value)) add(*id);
        if (const auto* ids = std::get_if<std::vector<ir::SubgraphId>>(&value)) {
          for (const ir::SubgraphId id : *ids) add(id);
        }
      }
    }
  }
  return found;
}

}  // namespace sluice::ops
