// Reads any bytes as the file of a graph of functions. What is taken can be written again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sandbox/graph/graph_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice;
  const auto file = sandbox::parse_graph_file({reinterpret_cast<const char*>(data), size});
  if (!file.is_ok()) return 0;
  for (const terms::GraphEdge& edge : file->edges) {
    const auto again = terms::GraphEdge::parse(edge.from.to_string() + "=" + edge.to.to_string());
    if (!again.is_ok() || !(again->from == edge.from) || !(again->to == edge.to)) std::abort();
  }
  return 0;
}
