// Several models as one: outputs of some are inputs of others.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"

namespace sluice::compile {

/// A model that is linked, under a name that is unique among them.
struct LinkedModel {
  std::string name;  ///< letters, digits, '_' and '-'
  ir::Graph graph;
};

/// A tensor (or sequence) of a model, "encoder.y".
struct ModelPort {
  std::string model;
  std::string operand;  ///< name of an input or output

  /// Splits at the first '.'. Fails: kInvalidArgument.
  static Result<ModelPort> parse(const std::string& text);
  std::string to_string() const { return model + "." + operand; }
};

/// From an output to an input.
struct ModelEdge {
  ModelPort from;
  ModelPort to;

  /// "encoder.y=decoder.x". Fails: kInvalidArgument.
  static Result<ModelEdge> parse(const std::string& text);
};

struct LinkRequest {
  std::vector<LinkedModel> models;
  std::vector<ModelEdge> edges;  ///< an output may have several, an input has at most one
  /// Outputs that are outputs of the whole besides those without an edge.
  std::vector<ModelPort> outputs;
};

/// One graph that computes all models, each after those it depends on, in the order given
/// otherwise. Its inputs are the inputs without an edge, its outputs those without one and
/// `outputs`; all are named "model.operand". Nodes are named "model/node". A symbolic dimension
/// of an input takes the dimension that its edge brings; other symbols get the model's name before
/// theirs.
/// Fails: kInvalidArgument for edges in a circle, types that do not fit, two edges to one input,
///        and names that are unknown or not unique.
Result<ir::Graph> link_graphs(LinkRequest request);

/// Key of the graph's metadata: names of the linked models, in order, with a space between.
inline constexpr const char* kModelsFact = "sluice.models";

/// The first operation of each model, by position in the main order, in order of the models; as
/// fusion and sorting left them. Empty for a graph that is not linked, or whose models' operations
/// stand among each other.
std::vector<std::pair<std::string, std::size_t>> model_starts(const ir::Graph& graph);

}  // namespace sluice::compile
