#include "compile/assign.h"

#include <algorithm>
#include <map>

#include "base/text/plural.h"
#include "compile/placement.h"
#include "ir/source.h"
#include "ops/control/structure.h"
#include "ops/schema.h"

namespace sluice::compile {
namespace {

/// Operators that no backend accepts, collected for one message.
class Refusals {
 public:
  void add(const ir::Graph& graph, const ir::Operation& operation, const std::string& reason) {
    const std::string kind =
        operation.domain.empty() ? operation.kind : operation.domain + "::" + operation.kind;
    Entry& entry = by_kind_[kind];
    if (entry.count++ == 0)
      entry.first = fmt::format("{}: {}", ir::describe(graph, operation), reason);
  }

  // One entry per operator, not per node: a model may have hundreds of nodes of an operator that
  // nothing supports. The first node and its reason stand for all.
  Status status(Backends backends) const {
    if (by_kind_.empty()) return ok_status();
    std::string text;
    for (const auto& [kind, entry] : by_kind_) {
      if (!text.empty()) text += "; ";
      text += fmt::format("{} ({}, {})", kind, counted(entry.count, "node"), entry.first);
    }
    const bool has_cpu =
        std::ranges::any_of(backends, [](const auto& backend) { return backend->name() == "cpu"; });
    if (!has_cpu) text += "; add cpu to --backend, and the processor may run them";
    return unimplemented("unsupported operators: {}", text);
  }

 private:
  struct Entry {
    int count = 0;
    std::string first;
  };
  std::map<std::string, Entry> by_kind_;
};

/// As exec::is_executor_step, but by the declared types.
bool is_executor_step(const ir::Subgraph& subgraph, const ir::Operation& operation,
                      const ops::OpSchema& schema) {
  if (schema.has(ops::kControlFlow)) return true;
  return std::any_of(operation.inputs.begin(), operation.inputs.end(), [&](ir::OperandId id) {
    if (!id.is_valid()) return false;
    const ir::Type::Kind kind = subgraph.operand(id).type.kind();
    return kind == ir::Type::Kind::kSequence || kind == ir::Type::Kind::kOptional;
  });
}

/// Assumes `rank` for operands of unknown rank: items of sequences.
std::function<ir::Type(ir::OperandId)> with_rank(const ir::Subgraph& subgraph, std::size_t rank) {
  return [&subgraph, rank](ir::OperandId id) {
    const ir::Type& type = subgraph.operand(id).type;
    if (!type.is_tensor() || type.shape() != nullptr) return type;
    return type.with_shape(ir::Shape(rank, ir::Dim::symbol("_rank")));
  };
}

using Candidates = std::span<const std::int16_t>;

class Assigner {
 public:
  Assigner(const ir::Graph& graph, const ir::Subgraph& subgraph, const Placement& placement)
      : graph_(graph), subgraph_(subgraph), placement_(placement) {}

  Result<std::vector<std::int16_t>> run(Refusals& refusals) const {
    std::vector<std::int16_t> assignment;
    for (const ir::OperationId id : subgraph_.order()) {
      const ir::Operation& operation = subgraph_.operation(id);
      const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
      const bool needs_kernel =
          schema == nullptr ||
          !(schema->needs_no_kernel() || is_executor_step(subgraph_, operation, *schema));
      std::string reason;
      // The entry is pushed in any case, so that the list stays parallel to the order.
      assignment.push_back(needs_kernel ? SLUICE_TRY(choose(operation, reason)) : std::int16_t{-1});
      if (!needs_kernel || assignment.back() >= 0) continue;
      if (const auto rule = placement_.find_rule(graph_, operation)) {
        return refusal_of_rule(operation, placement_.rule(*rule), reason);
      }
      refusals.add(graph_, operation, reason);
    }
    return assignment;
  }

 private:
  Result<std::int16_t> choose(const ir::Operation& operation, std::string& reason) const {
    return choose(operation, placement_.candidates(graph_, operation), reason);
  }

  Result<std::int16_t> choose(const ir::Operation& operation, Candidates candidates,
                              std::string& reason) const {
    const auto reached = without_far_strings(operation, candidates, reason);
    candidates = reached;
    // Fails for an operand of unknown rank.
    const auto as_written = backend::Op::create({graph_, subgraph_, operation});
    if (as_written.is_ok()) return first_that_takes(*as_written, candidates, reason);
    // Backends answer for known ranks only; the common ones come first. The run creates the kernel
    // for the actual rank.
    constexpr std::size_t kRanks[] = {4, 3, 2, 1, 0, 5, 6, 7, 8};
    for (const std::size_t rank : kRanks) {
      const auto op =
          backend::Op::create({graph_, subgraph_, operation, with_rank(subgraph_, rank)});
      if (!op.is_ok()) {
        reason = op.status().message();
        return std::int16_t{-1};
      }
      const auto chosen = first_that_takes(*op, candidates, reason);
      if (chosen.is_ok() && *chosen >= 0) return chosen;
      // A rank that contradicts the attributes cannot occur, so its refusal does not count.
      if (!chosen.is_ok() && reason.empty()) reason = chosen.status().message();
    }
    return std::int16_t{-1};
  }

  /// `candidates` without backends whose devices cannot reach the host, if the operation has
  /// strings: a string is a pointer into host memory.
  std::vector<std::int16_t> without_far_strings(const ir::Operation& operation,
                                                Candidates candidates, std::string& reason) const {
    const auto is_string = [&](ir::OperandId id) {
      if (!id.is_valid()) return false;
      const ir::Type& type = subgraph_.operand(id).type;
      return type.is_tensor() && type.element() == ir::ElementType::kString;
    };
    std::vector<std::int16_t> reached(candidates.begin(), candidates.end());
    if (!std::ranges::any_of(operation.inputs, is_string) &&
        !std::ranges::any_of(operation.outputs, is_string)) {
      return reached;
    }
    std::erase_if(reached, [&](std::int16_t index) {
      const auto& backend = *placement_.backends()[static_cast<std::size_t>(index)];
      const bool is_far =
          !std::ranges::all_of(backend.devices(), &backend::DeviceInfo::has_host_memory);
      if (is_far) reason = "strings do not leave host memory, which its device cannot reach";
      return is_far;
    });
    return reached;
  }

  Result<std::int16_t> first_that_takes(const backend::Op& op, Candidates candidates,
                                        std::string& reason) const {
    for (const std::int16_t index : candidates) {
      const auto& backend = placement_.backends()[static_cast<std::size_t>(index)];
      const auto support = SLUICE_TRY(backend->query(op));
      if (support.is_supported) return index;
      if (reason.empty()) reason = support.reason;
    }
    return std::int16_t{-1};
  }

  /// The backends of a rule refuse the operation: an error that names those that do not.
  Status refusal_of_rule(const ir::Operation& operation, const std::string& rule,
                         const std::string& reason) const {
    std::string takers;
    for (std::size_t i = 0; i < placement_.backends().size(); ++i) {
      const auto index = static_cast<std::int16_t>(i);
      std::string ignored;
      const auto taken = choose(operation, {&index, 1}, ignored);
      if (!taken.is_ok() || *taken < 0) continue;
      takers += (takers.empty() ? "" : " or ") + placement_.names()[i];
    }
    const std::string target = operation.name.empty() ? operation.kind : operation.name;
    return unimplemented(
        "{}: --place \"{}\" allows no other backend, and this one refuses it: {}; {}",
        operation.describe(), rule, reason,
        takers.empty() ? std::string("no backend of --backend and --place supports it")
                       : fmt::format("use --place \"{}={}\"", target, takers));
  }

  const ir::Graph& graph_;
  const ir::Subgraph& subgraph_;
  const Placement& placement_;
};

/// Fails for a rule that matches no operation, or only operations that need no kernel.
Status check_rules(const ir::Graph& graph, const Placement& placement) {
  for (std::size_t rule = 0; rule < placement.num_rules(); ++rule) {
    bool is_matched = false;
    for (const ir::SubgraphId id : ops::runnable_subgraphs(graph)) {
      const ir::Subgraph& subgraph = graph.subgraph(id);
      is_matched = is_matched || std::ranges::any_of(subgraph.order(), [&](ir::OperationId node) {
                     return placement.is_match(rule, graph, subgraph.operation(node));
                   });
    }
    // Judged by all matches, also those that a more exact rule overrides: such a rule is no
    // mistake.
    if (is_matched) continue;
    return invalid_argument(
        "--place \"{}\" matches no operation of the compiled graph, in which operations may be "
        "fused or folded; \"sluice explain\" lists them",
        placement.rule(rule));
  }
  return ok_status();
}

}  // namespace

Result<std::vector<std::vector<std::int16_t>>> assign_backends(const ir::Graph& graph,
                                                               const Placement& placement) {
  SLUICE_TRY(check_rules(graph, placement));
  std::vector<std::vector<std::int16_t>> assignment(graph.num_subgraphs());
  Refusals refusals;
  for (const ir::SubgraphId id : ops::runnable_subgraphs(graph)) {
    assignment[id.index()] =
        SLUICE_TRY(Assigner(graph, graph.subgraph(id), placement).run(refusals));
  }
  SLUICE_TRY(refusals.status(placement.backends()));
  return assignment;
}

}  // namespace sluice::compile
