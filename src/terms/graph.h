// A graph of functions, as a client asks for it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "terms/model.h"

namespace sluice::terms {

/// A tensor of a node, "detect.boxes".
struct GraphPort {
  std::string node;
  std::string tensor;  ///< name of an input or output of its function

  /// Splits at the first '.'. Fails: kInvalid.
  static Result<GraphPort> parse(std::string_view text);
  std::string to_string() const { return node + "." + tensor; }
  friend bool operator==(const GraphPort& a, const GraphPort& b) = default;
};

/// From an output to an input.
struct GraphEdge {
  GraphPort from;
  GraphPort to;

  /// "detect.boxes=classify.boxes". Fails: kInvalid.
  static Result<GraphEdge> parse(std::string_view text);
};

/// A use of a function; several nodes may use one.
struct GraphNode {
  std::string name;  ///< unique; letters, digits, '_' and '-'
  ModelHandle function = {};
};

struct GraphRequest {
  std::string name;
  std::vector<GraphNode> nodes;
  std::vector<GraphEdge> edges;    ///< an output may have several, an input has at most one
  std::vector<GraphPort> outputs;  ///< outputs of the graph besides those without an edge
};

/// A graph as lists show it.
struct GraphState {
  std::vector<GraphNode> nodes;
};

}  // namespace sluice::terms
