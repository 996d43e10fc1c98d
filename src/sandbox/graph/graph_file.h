// A graph of functions as a file describes it.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/json_reader.h"
#include "sandbox/graph/graph_plan.h"

namespace sluice::sandbox {

inline constexpr std::int64_t kMaxGraphFileBytes = std::int64_t{1} << 20;

/// Functions by the names or handles that users give them.
struct GraphFile {
  struct Function {
    std::string name;      ///< in the graph
    std::string function;  ///< the name or handle of one that is deployed
  };
  std::vector<Function> functions;
  std::vector<terms::GraphEdge> edges;
  std::vector<terms::GraphPort> outputs;
};

/// {"functions": ["detect=detector", "classify=classifier"],
///  "edges": ["detect.boxes=classify.boxes"], "outputs": ["detect.boxes"]}; the last two may be
/// left out. A function whose name in the graph is its own needs no '='.
/// Fails: kInvalidArgument with the place, or for more than kMaxGraphFileBytes.
Result<GraphFile> parse_graph_file(std::string_view text);
/// The same of an object in another file, which may have more fields.
Result<GraphFile> graph_from_json(const JsonValue& value);
nlohmann::ordered_json to_json(const GraphFile& file);

/// The graph with the functions that are deployed: `models` has their handles and names. A handle
/// is written as lists show it, 0x160000000, or decimal.
/// Fails: kNotFound for a function that is not in `models`; kInvalidArgument for a name of
/// several.
Result<terms::GraphRequest> to_request(GraphFile file, std::string name,
                                       const std::vector<terms::ModelInfo>& models);

}  // namespace sluice::sandbox
