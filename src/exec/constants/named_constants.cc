#include "exec/constants/named_constants.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <string_view>

namespace sluice::exec {
namespace {

bool is_same(const ir::Constant& a, const ir::Constant& b) {
  if (!(a.type == b.type) || a.data.size() != b.data.size()) return false;
  return a.data.data() == b.data.data() || std::ranges::equal(a.data.view(), b.data.view());
}

}  // namespace

std::vector<NamedConstant> named_constants(const ir::Graph& graph) {
  std::vector<NamedConstant> constants;
  std::map<std::string_view, std::size_t> index_of;
  for (std::size_t s = 0; s < graph.num_subgraphs(); ++s) {
    const ir::Subgraph& subgraph = graph.subgraph(ir::SubgraphId(s));
    for (std::size_t i = 0; i < subgraph.num_operands(); ++i) {
      const ir::OperandId id(i);
      const ir::Constant* constant = subgraph.find_constant(id);
      const std::string& name = subgraph.operand(id).name;
      if (constant == nullptr || name.empty()) continue;
      const auto [it, is_new] = index_of.emplace(name, constants.size());
      if (is_new) constants.push_back({name, *constant, {}});
      NamedConstant& named = constants[it->second];
      named.places.push_back({ir::SubgraphId(s), id});
      named.is_one_value = named.is_one_value && is_same(named.value, *constant);
    }
  }
  return constants;
}

}  // namespace sluice::exec
