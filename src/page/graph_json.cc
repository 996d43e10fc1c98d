#include "page/graph_json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ir/graph.h"
#include "ir/text/graph_text.h"

namespace sluice::page {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

std::string backend_of(const package::Executable& executable, std::size_t place) {
  if (executable.backend_of.empty() || place >= executable.backend_of[0].size()) return "";
  const std::int16_t number = executable.backend_of[0][place];
  return number < 0 ? "" : executable.backends[static_cast<std::size_t>(number)];
}

/// [operand]: the place of the operation that makes it; kNowhere for inputs and constants.
std::vector<std::size_t> makers_of(const ir::Subgraph& subgraph) {
  std::vector<std::size_t> makers(subgraph.num_operands(), kNowhere);
  std::size_t place = 0;
  for (const ir::OperationId id : subgraph.order()) {
    for (const ir::OperandId output : subgraph.operation(id).outputs) {
      if (output.is_valid()) makers[output.index()] = place;
    }
    ++place;
  }
  return makers;
}

}  // namespace

std::string graph_json(const package::Executable& executable) {
  const ir::Subgraph& subgraph = executable.graph.main();
  const std::vector<std::size_t> makers = makers_of(subgraph);
  const auto order = subgraph.order().first(std::min(subgraph.order().size(), kMaxDrawn));
  ordered_json operations = ordered_json::array();
  for (std::size_t place = 0; place < order.size(); ++place) {
    const ir::Operation& operation = subgraph.operation(order[place]);
    ordered_json inputs = ordered_json::array();
    for (const ir::OperandId input : operation.inputs) {
      if (input.is_valid() && makers[input.index()] != kNowhere) {
        inputs.push_back(makers[input.index()]);
      }
    }
    const ir::OperandId output = operation.output(0);
    operations.push_back(
        {{"kind", ir::kind_text(executable.graph, operation)},
         {"name", operation.name},
         {"backend", backend_of(executable, place)},
         {"type", output.is_valid() ? subgraph.operand(output).type.to_string() : ""},
         {"inputs", std::move(inputs)}});
  }
  const ordered_json all = {{"num_operations", subgraph.order().size()},
                            {"operations", std::move(operations)}};
  // Names of a file need not be UTF-8.
  return all.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace sluice::page
