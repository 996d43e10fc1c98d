#include "compile/profile/generic_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "exec/executors/step_work.h"
#include "ir/text/graph_text.h"

namespace sluice::compile {
namespace {

constexpr double kLeastShare = 0.01;
constexpr double kLeastNs = 20'000;
constexpr std::int64_t kAssumedDim = 32;
constexpr std::size_t kShown = 3;  ///< names in a warning

/// The type with a number for each dimension; as it is where the rank is unknown.
ir::Type with_numbers(const ir::Type& type) {
  if (!type.is_tensor() || type.shape() == nullptr) return type;
  ir::Shape shape = *type.shape();
  for (ir::Dim& dim : shape) {
    dim = dim.substitute([](std::string_view) { return std::optional(ir::Dim(kAssumedDim)); });
  }
  return type.with_shape(std::move(shape));
}

exec::Facts facts_of(const ir::Subgraph& subgraph) {
  exec::Facts facts(subgraph.num_operands());
  for (std::size_t i = 0; i < subgraph.num_operands(); ++i) {
    const ir::OperandId id(i);
    facts.set(id, {with_numbers(subgraph.operand(id).type), std::nullopt, std::nullopt});
  }
  return facts;
}

bool is_generic(const ir::Graph& graph, const ir::Subgraph& subgraph,
                const ir::Operation& operation, const backend::Backend& backend) {
  const auto op = backend::Op::create({graph, subgraph, operation});
  if (!op.is_ok()) return false;
  const auto support = backend.query(*op);
  return support.is_ok() && support->is_generic;
}

/// `LpPool "pool" and "pool2"`; of many the first ones.
std::string names_of(const std::string& kind, const std::vector<std::string>& names) {
  std::string text = kind;
  for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i) {
    if (!names[i].empty()) text += fmt::format("{} \"{}\"", i == 0 ? "" : ",", names[i]);
  }
  if (names.size() > kShown) text += fmt::format(" and {} more", names.size() - kShown);
  return text;
}

}  // namespace

std::optional<std::string> warn_of_generic_work(
    const package::Executable& executable,
    std::span<const std::shared_ptr<const backend::Backend>> backends) {
  const ir::Graph& graph = executable.graph;
  std::map<std::string, std::vector<std::string>> found;
  double all_ns = 0;
  double generic_ns = 0;
  for (std::size_t s = 0; s < executable.backend_of.size(); ++s) {
    const ir::Subgraph& subgraph = graph.subgraph(ir::SubgraphId(s));
    const exec::Facts facts = facts_of(subgraph);
    for (std::size_t i = 0; i < executable.backend_of[s].size(); ++i) {
      const std::int16_t number = executable.backend_of[s][i];
      if (number < 0) continue;
      const ir::Operation& operation = subgraph.operation(subgraph.order()[i]);
      const bool generic =
          is_generic(graph, subgraph, operation, *backends[static_cast<std::size_t>(number)]);
      const double work_ns = exec::estimate_work(operation, facts, generic);
      all_ns += work_ns;
      if (!generic) continue;
      generic_ns += work_ns;
      found[ir::kind_text(graph, operation)].push_back(operation.name);
    }
  }
  if (generic_ns < kLeastNs || generic_ns < kLeastShare * all_ns) return std::nullopt;
  std::string text;
  for (const auto& [kind, names] : found) {
    text += (text.empty() ? "" : ", ") + names_of(kind, names);
  }
  return fmt::format(
      "generic kernels, which are slow, run {}: about {:.0f} % of the estimated time", text,
      100 * generic_ns / all_ns);
}

}  // namespace sluice::compile
