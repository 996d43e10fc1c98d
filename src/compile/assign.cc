#include "compile/assign.h"

#include <algorithm>
#include <map>

#include "ops/control/structure.h"
#include "ops/schema.h"

namespace sluice::compile {
namespace {

/// Operators that nobody takes, gathered for one message.
class Refusals {
 public:
  void add(const ir::Operation& operation, const std::string& reason) {
    const std::string kind =
        operation.domain.empty() ? operation.kind : operation.domain + "::" + operation.kind;
    Entry& entry = by_kind_[kind];
    if (entry.count++ == 0) entry.first = fmt::format("{}: {}", operation.describe(), reason);
  }

  Status status() const {
    if (by_kind_.empty()) return ok_status();
    std::string text;
    for (const auto& [kind, entry] : by_kind_) {
      if (!text.empty()) text += "; ";
      text += fmt::format("{} ({} node{}, {})", kind, entry.count, entry.count == 1 ? "" : "s",
                          entry.first);
    }
    return unimplemented("unsupported operators: {}", text);
  }

 private:
  struct Entry {
    int count = 0;
    std::string first;
  };
  std::map<std::string, Entry> by_kind_;
};

bool is_executor_step(const ir::Subgraph& subgraph, const ir::Operation& operation,
                      const ops::OpSchema& schema) {
  if (schema.has(ops::kControlFlow)) return true;
  return std::any_of(operation.inputs.begin(), operation.inputs.end(), [&](ir::OperandId id) {
    if (!id.is_valid()) return false;
    const ir::Type::Kind kind = subgraph.operand(id).type.kind();
    return kind == ir::Type::Kind::kSequence || kind == ir::Type::Kind::kOptional;
  });
}

/// Operands of unknown rank, as they may turn out to be: what comes out of a sequence.
std::function<ir::Type(ir::OperandId)> with_rank(const ir::Subgraph& subgraph, std::size_t rank) {
  return [&subgraph, rank](ir::OperandId id) {
    const ir::Type& type = subgraph.operand(id).type;
    if (!type.is_tensor() || type.shape() != nullptr) return type;
    return type.with_shape(ir::Shape(rank, ir::Dim::symbol("_rank")));
  };
}

class Assigner {
 public:
  Assigner(const ir::Graph& graph, const ir::Subgraph& subgraph, Backends backends)
      : graph_(graph), subgraph_(subgraph), backends_(backends) {}

  Result<std::vector<std::int16_t>> run(Refusals& refusals) const {
    std::vector<std::int16_t> assignment;
    for (const ir::OperationId id : subgraph_.order()) {
      const ir::Operation& operation = subgraph_.operation(id);
      const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
      const bool needs_kernel =
          schema == nullptr ||
          !(schema->has(ops::kView) || is_executor_step(subgraph_, operation, *schema));
      std::string reason;
      assignment.push_back(needs_kernel ? SLUICE_TRY(choose(operation, reason)) : std::int16_t{-1});
      if (needs_kernel && assignment.back() < 0) refusals.add(operation, reason);
    }
    return assignment;
  }

 private:
  Result<std::int16_t> choose(const ir::Operation& operation, std::string& reason) const {
    const auto as_written = backend::Op::create({graph_, subgraph_, operation});
    if (as_written.is_ok()) return first_that_takes(*as_written, reason);
    constexpr std::size_t kRanks[] = {4, 3, 2, 1, 0, 5, 6, 7, 8};
    for (const std::size_t rank : kRanks) {
      const auto op =
          backend::Op::create({graph_, subgraph_, operation, with_rank(subgraph_, rank)});
      if (!op.is_ok()) {
        reason = op.status().message();
        return std::int16_t{-1};
      }
      const auto chosen = first_that_takes(*op, reason);
      if (chosen.is_ok() && *chosen >= 0) return chosen;
      // A rank that contradicts the attributes is none that it will have.
      if (!chosen.is_ok() && reason.empty()) reason = chosen.status().message();
    }
    return std::int16_t{-1};
  }

  Result<std::int16_t> first_that_takes(const backend::Op& op, std::string& reason) const {
    for (std::size_t i = 0; i < backends_.size(); ++i) {
      const auto support = SLUICE_TRY(backends_[i]->query(op));
      if (support.is_supported) return static_cast<std::int16_t>(i);
      if (reason.empty()) reason = support.reason;
    }
    return std::int16_t{-1};
  }

  const ir::Graph& graph_;
  const ir::Subgraph& subgraph_;
  Backends backends_;
};

}  // namespace

Result<std::vector<std::vector<std::int16_t>>> assign_backends(const ir::Graph& graph,
                                                               Backends backends) {
  std::vector<std::vector<std::int16_t>> assignment(graph.num_subgraphs());
  Refusals refusals;
  for (const ir::SubgraphId id : ops::runnable_subgraphs(graph)) {
    assignment[id.index()] =
        SLUICE_TRY(Assigner(graph, graph.subgraph(id), backends).run(refusals));
  }
  SLUICE_TRY(refusals.status());
  return assignment;
}

}  // namespace sluice::compile
