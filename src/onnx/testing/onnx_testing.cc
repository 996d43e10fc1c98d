#include "onnx/testing/onnx_testing.h"

namespace sluice::onnx::testing {

pb::ModelProto new_model() {
  pb::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  model.mutable_graph()->set_name("test");
  return model;
}

void add_input(pb::ModelProto& model, const std::string& name, pb::TensorProto::DataType element,
               const std::vector<std::string>& dims) {
  pb::ValueInfoProto& input = *model.mutable_graph()->add_input();
  input.set_name(name);
  pb::TypeProto_Tensor& type = *input.mutable_type()->mutable_tensor_type();
  type.set_elem_type(element);
  type.mutable_shape();
  for (const std::string& dim : dims) {
    auto& added = *type.mutable_shape()->add_dim();
    const bool is_number = dim.find_first_not_of("0123456789-") == std::string::npos;
    if (dim.empty()) continue;
    if (is_number) {
      added.set_dim_value(std::stoll(dim));
    } else {
      added.set_dim_param(dim);
    }
  }
}

void add_output(pb::ModelProto& model, const std::string& name) {
  model.mutable_graph()->add_output()->set_name(name);
}

pb::NodeProto& add_node(pb::GraphProto& graph, const std::string& kind,
                        const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs) {
  pb::NodeProto& node = *graph.add_node();
  node.set_op_type(kind);
  for (const std::string& name : inputs) node.add_input(name);
  for (const std::string& name : outputs) node.add_output(name);
  return node;
}

pb::NodeProto& add_node(pb::ModelProto& model, const std::string& kind,
                        const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs) {
  return add_node(*model.mutable_graph(), kind, inputs, outputs);
}

pb::GraphProto& add_graph(pb::NodeProto& node, const std::string& attribute) {
  pb::AttributeProto& added = *node.add_attribute();
  added.set_name(attribute);
  added.set_type(pb::AttributeProto::GRAPH);
  added.mutable_g()->set_name(attribute);
  return *added.mutable_g();
}

pb::TensorProto& add_weight(pb::ModelProto& model, const std::string& name,
                            const std::vector<std::int64_t>& dims, const std::vector<float>& data) {
  pb::TensorProto& tensor = *model.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(pb::TensorProto::FLOAT);
  for (const std::int64_t dim : dims) tensor.add_dims(dim);
  tensor.set_raw_data(data.data(), data.size() * sizeof(float));
  return tensor;
}

Result<ir::Graph> import_proto(const pb::ModelProto& model, const ImportOptions& options) {
  const std::string bytes = model.SerializeAsString();
  return import_model_bytes(std::as_bytes(std::span<const char>(bytes)), {}, options);
}

}  // namespace sluice::onnx::testing
