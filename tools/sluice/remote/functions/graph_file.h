// A graph of functions as a file describes it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sandbox/graph/graph_plan.h"

namespace sluice::tool {

/// Functions by the names or handles that users give them.
struct GraphFile {
  struct Function {
    std::string name;      ///< in the graph
    std::string function;  ///< of the daemon
  };
  std::vector<Function> functions;
  std::vector<sandbox::GraphEdge> edges;
  std::vector<sandbox::GraphPort> outputs;
};

/// {"functions": ["detect=detector", "classify=classifier"],
///  "edges": ["detect.boxes=classify.boxes"], "outputs": ["detect.boxes"]}; the last two may be
/// left out. A function whose name in the graph is its own needs no '='.
/// Fails: kInvalidArgument with the place.
Result<GraphFile> parse_graph_file(std::string_view text);

}  // namespace sluice::tool
