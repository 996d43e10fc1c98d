// The text form of a graph: what parses prints; a well-formed graph parses back to the same text,
// and stays well-formed through type inference and all passes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "ir/text/graph_text.h"
#include "ir/verify.h"
#include "ops/inference.h"
#include "ops/schema.h"
#include "passes/pass_manager.h"

namespace {

using namespace sluice;  // NOLINT(google-build-using-namespace): a program of one file

bool normalize_all(ir::Graph& graph) {
  for (std::size_t i = 0; i < graph.num_subgraphs(); ++i) {
    ir::Subgraph& subgraph = graph.subgraph(ir::SubgraphId(i));
    const std::vector<ir::OperationId> order(subgraph.order().begin(), subgraph.order().end());
    for (const ir::OperationId id : order) {
      ir::Operation operation = subgraph.operation(id);
      const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
      if (schema == nullptr || !ops::normalize(*schema, subgraph, operation).is_ok()) return false;
      subgraph.operation(id) = std::move(operation);
    }
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto graph = ir::parse_graph(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!graph.is_ok()) return 0;
  const std::string text = ir::print(*graph);
  if (!ir::verify(*graph).is_ok()) return 0;
  const auto again = ir::parse_graph(text);
  if (!again.is_ok() || ir::print(*again) != text) std::abort();
  if (!normalize_all(*graph)) return 0;
  if (!ir::verify(*graph).is_ok() || !ops::infer_types(*graph).is_ok()) return 0;
  const auto reports = passes::run_passes(*graph, passes::default_pipeline(), {});
  if (reports.is_ok() && !ir::verify(*graph).is_ok()) std::abort();
  return 0;
}
