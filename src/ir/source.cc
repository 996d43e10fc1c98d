#include "ir/source.h"

#include <set>

namespace sluice::ir {
namespace {

constexpr std::string_view kPrefix = "source.";

std::string key_of(std::string_view operation_name) {
  return std::string(kPrefix) + std::string(operation_name);
}

}  // namespace

void set_source(Graph& graph, const std::string& operation_name, const std::string& source) {
  if (operation_name.empty() || source.empty()) return;
  const auto [entry, is_new] = graph.metadata.emplace(key_of(operation_name), source);
  // Two operations of one name and different sources: a wrong line would be worse than none.
  if (!is_new && entry->second != source) entry->second.clear();
}

const std::string* find_source(const Graph& graph, std::string_view operation_name) {
  const auto found = graph.metadata.find(key_of(operation_name));
  const bool is_known = found != graph.metadata.end() && !found->second.empty();
  return is_known ? &found->second : nullptr;
}

std::string describe(const Graph& graph, const Operation& operation) {
  const std::string* source = find_source(graph, operation.name);
  return source == nullptr ? operation.describe() : operation.describe() + ", " + *source;
}

Status with_source(const Graph& graph, const Subgraph& subgraph, Status status) {
  if (status.is_ok()) return status;
  std::string message = status.message();
  for (const OperationId id : subgraph.order()) {
    const Operation& operation = subgraph.operation(id);
    const std::string* source = find_source(graph, operation.name);
    if (source == nullptr) continue;
    const std::string node = operation.describe();
    const std::size_t at = message.find(node);
    if (at == std::string::npos) continue;
    const std::string behind = ", " + *source;
    const std::size_t end = at + node.size();
    // Errors pass here more than once on their way up.
    if (message.compare(end, behind.size(), behind) != 0) message.insert(end, behind);
  }
  return {status.code(), status.detail(), std::move(message)};
}

void drop_stale_sources(Graph& graph) {
  std::set<std::string> known;
  for (std::size_t s = 0; s < graph.num_subgraphs(); ++s) {
    const Subgraph& subgraph = graph.subgraph(SubgraphId(s));
    for (const OperationId id : subgraph.order()) known.insert(key_of(subgraph.operation(id).name));
  }
  std::erase_if(graph.metadata, [&](const auto& fact) {
    const bool is_source = std::string_view(fact.first).starts_with(kPrefix);
    return is_source && (fact.second.empty() || !known.contains(fact.first));
  });
}

}  // namespace sluice::ir
