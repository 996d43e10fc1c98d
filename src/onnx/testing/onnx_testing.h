// Small models for the tests of this folder.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"
#include "onnx/import.h"
#include "onnx/proto/proto.h"

namespace sluice::onnx::testing {

/// IR version 8, opset 17, an empty graph.
pb::ModelProto new_model();

/// Dimensions that read as numbers are numbers, the others symbols; "" is unnamed.
void add_input(pb::ModelProto& model, const std::string& name, pb::TensorProto::DataType element,
               const std::vector<std::string>& dims);

void add_output(pb::ModelProto& model, const std::string& name);

pb::NodeProto& add_node(pb::GraphProto& graph, const std::string& kind,
                        const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs);
pb::NodeProto& add_node(pb::ModelProto& model, const std::string& kind,
                        const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs);

/// A graph as an attribute of a node.
pb::GraphProto& add_graph(pb::NodeProto& node, const std::string& attribute);

/// An f32 initializer with these values as raw data.
pb::TensorProto& add_weight(pb::ModelProto& model, const std::string& name,
                            const std::vector<std::int64_t>& dims, const std::vector<float>& data);

Result<ir::Graph> import_proto(const pb::ModelProto& model, const ImportOptions& options = {});

}  // namespace sluice::onnx::testing
