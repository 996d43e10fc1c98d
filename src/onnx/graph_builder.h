// GraphProto to ir::Subgraph, node by node.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/system/folder.h"
#include "ir/graph.h"
#include "onnx/faults/findings.h"
#include "onnx/functions.h"
#include "onnx/import.h"
#include "onnx/proto/proto.h"
#include "onnx/scope.h"
#include "onnx/tensors/tensor.h"
#include "onnx/type.h"

namespace sluice::onnx {

/// Builds one model's graph. Borrows the functions and opsets; takes weights out of the protobuf
/// messages it is given. Used by one thread.
class GraphBuilder {
 public:
  GraphBuilder(std::vector<Folder> folders, FunctionTable& functions, const Opsets& opsets)
      : tensors_(std::move(folders)), functions_(functions), opsets_(opsets) {}

  /// Bytes that are missing in the message, by initializer of `main`; empty: they are there. Before
  /// `build`.
  void add_raw_data(const pb::GraphProto& main, const std::vector<Bytes>& raw);

  /// `overridable`: initializers that stay inputs.
  /// Fails: kInvalidArgument, kUnimplemented; one message has the faults of all nodes.
  Result<ir::Graph> build(pb::GraphProto& main, const ImportOptions& options,
                          std::set<std::string> overridable = {});

  /// What the file gets wrong and import accepts all the same; sentences.
  const std::set<std::string>& warnings() const { return warnings_; }

 private:
  struct Nested {  ///< a subgraph and what it captures
    ir::SubgraphId id;
    std::vector<Capture> captures;
  };

  // graph_builder.cc: what a GraphProto lists
  Status bind_shapes(const pb::GraphProto& main, const ImportOptions& options);
  Status add_initializers(pb::GraphProto& proto, Scope& scope);
  Status add_default(const std::string& name, ir::Constant value, const pb::GraphProto& main,
                     Scope& scope);
  Result<ir::Type> type_of_default(const std::string& name, const ir::Type& own,
                                   const pb::GraphProto& main);
  Status add_main_inputs(const pb::GraphProto& main, const ImportOptions& options, Scope& scope);
  Status add_inputs(const pb::GraphProto& proto, Scope& scope);
  bool is_overridable(const Scope& scope, const std::string& name) const;
  Status declare_types(const pb::GraphProto& proto, Scope& scope);
  Status add_nodes_and_outputs(pb::GraphProto& proto, Scope& scope);
  Result<Nested> build_nested(pb::GraphProto& proto, Scope& outer);

  // node_builder.cc: one node
  Status add_node(pb::NodeProto& node, Scope& scope);
  Status add_checked_node(pb::NodeProto& node, Scope& scope);
  Status note_fault(const pb::NodeProto& node, Status fault, Scope& scope);
  Status add_operation(pb::NodeProto& node, Scope& scope);
  Status add_captures(const std::vector<Nested>& nested, ir::Operation& operation, Scope& scope);
  Status set_version(ir::Operation& operation, const Scope& scope);
  std::optional<int> accepted_version(const ir::Operation& operation, const Scope& scope);
  Result<std::vector<ir::OperandId>> find_inputs(const pb::NodeProto& node, Scope& scope);
  Result<ir::Attributes> read_attributes(pb::NodeProto& node, Scope& scope,
                                         std::vector<Nested>* nested);
  Status add_attribute(pb::AttributeProto& attribute, Scope& scope, std::vector<Nested>* nested,
                       ir::Attributes& attributes);
  Result<ir::Attribute> read_graphs(pb::AttributeProto& attribute, Scope& scope,
                                    std::vector<Nested>& nested);

  // call_builder.cc: one call of a model's function
  Status inline_call(pb::NodeProto& node, Function& function, Scope& scope);
  Status inline_body(const pb::NodeProto& node, Function& function, const ir::Attributes& arguments,
                     Scope& scope);
  Status define_call_outputs(const pb::NodeProto& node, const Function& function, Scope& body,
                             Scope& scope);
  Result<ir::Attributes> read_arguments(pb::NodeProto& node, Function& function, Scope& scope);

  ir::Graph graph_;
  TensorReader tensors_;
  TypeReader types_;
  FunctionTable& functions_;
  const Opsets& opsets_;
  Findings findings_;
  std::set<std::string> overridable_;
  std::vector<ir::OperandId> inputs_with_default_;
  std::set<std::string> warnings_;
  int depth_ = 0;  // of graphs and calls inside each other
  int num_calls_ = 0;
  std::int64_t cost_ = 0;  // of all inlined nodes
};

}  // namespace sluice::onnx
