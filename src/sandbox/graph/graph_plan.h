// A graph of functions: what a client asks for, and in which order it runs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/model_host.h"

namespace sluice::sandbox {

inline constexpr std::size_t kMaxGraphNodes = 256;
inline constexpr std::size_t kMaxGraphEdges = 4096;

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
  runtime::ModelHandle function = {};
};

struct GraphRequest {
  std::string name;
  std::vector<GraphNode> nodes;
  std::vector<GraphEdge> edges;    ///< an output may have several, an input has at most one
  std::vector<GraphPort> outputs;  ///< outputs of the graph besides those without an edge
};

/// Fails: kInvalid for too many nodes, edges or outputs, or no node.
Status check_size(const GraphRequest& request);

/// Where a tensor of a run comes from: an input of the graph, or an output of a step.
struct GraphSource {
  static constexpr std::size_t kInput = static_cast<std::size_t>(-1);
  std::size_t step = kInput;
  std::size_t index = 0;  ///< by the signature of the graph, or of the step's function
  friend bool operator==(const GraphSource& a, const GraphSource& b) = default;
};

/// One function of a run.
struct GraphStep {
  std::string name;  ///< the node's
  std::shared_ptr<runtime::RequestSink> sink;
  std::vector<GraphSource> inputs;    ///< by its signature
  std::vector<GraphSource> releases;  ///< what nobody reads after this step
};

/// Constant. Steps stand behind those whose tensors they read, otherwise in the order of the nodes.
struct GraphPlan {
  std::vector<GraphStep> steps;
  /// Tensors are named "node.tensor": inputs without an edge, outputs without one and those asked
  /// for, each in the order of the nodes.
  package::Signature signature;
  std::vector<GraphSource> outputs;  ///< by the signature
};

/// `sinks`: of the nodes' functions, in their order.
/// Fails: kInvalid naming functions and tensors: edges in a circle, types that do not fit, two
/// edges to one input, names that are unknown or not unique, too many nodes or edges.
Result<GraphPlan> plan_graph(const GraphRequest& request,
                             std::vector<std::shared_ptr<runtime::RequestSink>> sinks);

}  // namespace sluice::sandbox
