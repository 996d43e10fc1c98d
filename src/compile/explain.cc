#include "compile/explain.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "compile/placement.h"
#include "ir/text/graph_text.h"

namespace sluice::compile {
namespace {

class Explainer {
 public:
  Explainer(const package::Executable& executable, Backends backends)
      : executable_(executable), backends_(backends) {}

  Result<Explanation> run() {
    SLUICE_TRY(add_segments());
    for (std::size_t s = 0; s < executable_.backend_of.size(); ++s) {
      for (std::size_t i = 0; i < executable_.backend_of[s].size(); ++i) {
        SLUICE_TRY(add_node(s, i));
      }
    }
    add_edges();
    return std::move(explanation_);
  }

 private:
  std::string backend_at(std::size_t subgraph, std::size_t position) const {
    const std::int16_t number = executable_.backend_of[subgraph][position];
    return number < 0 ? "" : executable_.backends[static_cast<std::size_t>(number)];
  }

  Status add_segments() {
    const auto specs = SLUICE_TRY(package::segments_of(executable_));
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const std::size_t end =
          i + 1 < specs.size() ? specs[i + 1].first_operation : executable_.backend_of[0].size();
      // Segments cover the order without a gap, so the list grows to the end of each in turn.
      segment_of_.resize(end, static_cast<int>(i));
      SegmentSummary summary = {specs[i].name, "", specs[i].cores, end - specs[i].first_operation,
                                0};
      for (std::size_t at = specs[i].first_operation; at < end; ++at) {
        if (summary.backend.empty()) summary.backend = backend_at(0, at);
      }
      explanation_.segments.push_back(std::move(summary));
    }
    return ok_status();
  }

  Status add_node(std::size_t s, std::size_t position) {
    const ir::Subgraph& subgraph = executable_.graph.subgraph(ir::SubgraphId(s));
    const ir::Operation& operation = subgraph.operation(subgraph.order()[position]);
    NodePlacement node = {s,
                          position,
                          operation.name,
                          ir::kind_text(executable_.graph, operation),
                          backend_at(s, position),
                          "",
                          s == 0 ? segment_of_[position] : -1,
                          {}};
    if (node.backend.empty()) {
      node.why = "needs no kernel: a view, or a step of the executor";
    } else {
      SLUICE_TRY(ask(subgraph, operation, node));
    }
    explanation_.nodes.push_back(std::move(node));
    return ok_status();
  }

  Status ask(const ir::Subgraph& subgraph, const ir::Operation& operation, NodePlacement& node) {
    const auto op = backend::Op::create({executable_.graph, subgraph, operation});
    // Types whose rank only the run tells. assign_backends() assumed ranks for it; no query can be
    // repeated here.
    if (!op.is_ok()) {
      node.why = "assigned for the common ranks: " + op.status().message();
      return ok_status();
    }
    for (const auto& backend : backends_) {
      const auto support = SLUICE_TRY(backend->query(*op));
      node.alternatives.push_back({backend->name(), support.is_supported, support.reason,
                                   support.cost_ns, support.is_generic});
      if (backend->name() == node.backend && node.segment >= 0) {
        explanation_.segments[static_cast<std::size_t>(node.segment)].cost_ns += support.cost_ns;
      }
    }
    node.why = why(node);
    return ok_status();
  }

  /// Explains the choice by the backends that precede the chosen one in the executable's list.
  std::string why(const NodePlacement& node) const {
    std::string refusals;
    const auto chosen = std::ranges::find(node.alternatives, node.backend, &Alternative::backend);
    const bool is_generic = chosen != node.alternatives.end() && chosen->is_generic;
    const std::string how = is_generic ? ", by a generic kernel" : "";
    for (const std::string& name : executable_.backends) {
      if (name == node.backend) break;
      const auto earlier = std::ranges::find(node.alternatives, name, &Alternative::backend);
      if (earlier == node.alternatives.end()) continue;
      // A backend that comes first in the list and takes the operation was passed over, which only
      // a rule or the profile does.
      if (earlier->is_supported) return chosen_by("placed by a rule" + rules()) + how;
      refusals += (refusals.empty() ? "" : "; ") + name + ": " + earlier->reason;
    }
    if (refusals.empty()) return chosen_by("the first backend that supports it") + how;
    return "backends before it refuse it: " + refusals + how;
  }

  /// `otherwise`, unless the profiled scheduler chose.
  std::string chosen_by(std::string otherwise) const {
    if (!executable_.graph.metadata.contains(kScheduledFact)) return otherwise;
    return "least time by the profile";
  }

  std::string rules() const {
    const auto fact = executable_.graph.metadata.find(kPlacesFact);
    return fact == executable_.graph.metadata.end() ? "" : ": --place " + fact->second;
  }

  void add_edges() {
    const ir::Subgraph& main = executable_.graph.main();
    std::map<ir::OperandId, std::size_t> producer;
    std::map<std::pair<std::size_t, std::size_t>, std::set<ir::OperandId>> crossing;
    for (std::size_t i = 0; i < main.order().size(); ++i) {
      const ir::Operation& operation = main.operation(main.order()[i]);
      const auto to = static_cast<std::size_t>(segment_of_[i]);
      // Constants and the model's inputs have no producer, so they make no edge.
      for (const ir::OperandId read : operation.reads()) {
        const auto from = producer.find(read);
        if (from != producer.end() && from->second != to) crossing[{from->second, to}].insert(read);
      }
      for (const ir::OperandId written : operation.outputs) producer[written] = to;
    }
    for (const auto& [ends, operands] : crossing) {
      SegmentEdge edge = {ends.first, ends.second, static_cast<int>(operands.size()), 0};
      for (const ir::OperandId operand : operands) {
        edge.size_bytes += ir::storage_bytes(main.operand(operand).type).value_or(0);
      }
      explanation_.edges.push_back(edge);
    }
  }

  const package::Executable& executable_;
  Backends backends_;
  std::vector<int> segment_of_;  ///< by position in the main order
  Explanation explanation_;
};

}  // namespace

Result<Explanation> explain(const package::Executable& executable, Backends backends) {
  return Explainer(executable, backends).run();
}

}  // namespace sluice::compile
