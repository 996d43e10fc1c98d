// A graph of functions: what a client asks for, and in which order it runs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/model_host.h"
#include "terms/graph.h"

namespace sluice::sandbox {

inline constexpr std::size_t kMaxGraphNodes = 256;
inline constexpr std::size_t kMaxGraphEdges = 4096;

/// Fails: kInvalid for too many nodes, edges or outputs, or no node.
Status check_size(const terms::GraphRequest& request);

/// Where a tensor of a run comes from: an input of the graph, the default of an input that nothing
/// gives, or an output of a step.
struct GraphSource {
  static constexpr std::size_t kInput = static_cast<std::size_t>(-1);
  static constexpr std::size_t kDefault = static_cast<std::size_t>(-2);
  std::size_t step = kInput;
  /// By the signature of the graph, of the function that reads a default, or of the step's
  /// function.
  std::size_t index = 0;
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
  /// for, each in the order of the nodes. With GraphNames the tensors are those, in that order.
  terms::Signature signature;
  std::vector<GraphSource> outputs;  ///< by the signature
  bool has_names = false;            ///< made with GraphNames
};

/// The inputs and outputs of a graph under names of their own. An input without an edge and a name
/// takes its default; an output without a name is no output.
struct GraphNames {
  struct Input {
    std::string name;
    std::vector<terms::GraphPort> to;  ///< all of them take the tensor
  };
  struct Output {
    std::string name;
    terms::GraphPort from;
  };
  std::vector<Input> inputs;
  std::vector<Output> outputs;
};

/// `sinks`: of the nodes' functions, in their order. `names`: null for "node.tensor"; with it the
/// nodes may have any names, and the request asks for no outputs.
/// Fails: kInvalid naming functions and tensors: edges in a circle, types that do not fit, two
/// edges to one input, names that are unknown or not unique, too many nodes or edges.
Result<GraphPlan> plan_graph(const terms::GraphRequest& request,
                             std::vector<std::shared_ptr<runtime::RequestSink>> sinks,
                             const GraphNames* names = nullptr);

}  // namespace sluice::sandbox
