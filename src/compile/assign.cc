#include "compile/assign.h"

#include <map>

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

}  // namespace

Result<std::vector<std::int16_t>> assign_backends(const ir::Graph& graph, Backends backends) {
  std::vector<std::int16_t> assignment;
  Refusals refusals;
  for (const ir::OperationId id : graph.main().order()) {
    const ir::Operation& operation = graph.main().operation(id);
    const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
    std::int16_t chosen = -1;
    std::string reason = "control flow and sequences are not supported yet";
    const bool needs_kernel = schema == nullptr || !schema->has(ops::kView);
    if (needs_kernel && !(schema != nullptr && schema->has(ops::kControlFlow))) {
      auto op = backend::Op::create({graph, graph.main(), operation});
      reason = op.is_ok() ? "" : op.status().message();
      for (std::size_t i = 0; op.is_ok() && i < backends.size() && chosen < 0; ++i) {
        const auto support = SLUICE_TRY(backends[i]->query(*op));
        if (support.is_supported) chosen = static_cast<std::int16_t>(i);
        if (!support.is_supported && reason.empty()) reason = support.reason;
      }
    }
    if (needs_kernel && chosen < 0) refusals.add(operation, reason);
    assignment.push_back(chosen);
  }
  SLUICE_TRY(refusals.status());
  return assignment;
}

}  // namespace sluice::compile
