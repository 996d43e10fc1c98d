// One message lists all faults of a file.
#include "onnx/faults/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "onnx/testing/onnx_testing.h"

namespace sluice::onnx {
namespace {

using testing::add_graph;
using testing::add_input;
using testing::add_node;
using testing::add_output;
using ::testing::HasSubstr;
using testing::import_proto;
using testing::new_model;
using ::testing::Not;

pb::NodeProto& add_float(pb::NodeProto& node, const std::string& name, float value) {
  pb::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(pb::AttributeProto::FLOAT);
  attribute.set_f(value);
  return node;
}

/// A model with the inputs x and, for conditions, c; its nodes are the caller's.
pb::ModelProto model_in(int opset) {
  pb::ModelProto model = new_model();
  model.mutable_opset_import(0)->set_version(opset);
  add_input(model, "x", pb::TensorProto::FLOAT, {"2", "3"});
  add_input(model, "c", pb::TensorProto::BOOL, {});
  return model;
}

std::string refusal_of_model(const std::string& kind, int opset, const std::string& domain = "") {
  pb::ModelProto model = model_in(opset);
  if (!domain.empty()) {
    model.add_opset_import()->set_domain(domain);
    model.mutable_opset_import()->rbegin()->set_version(opset);
  }
  add_node(model, kind, {"x"}, {"y"}).set_domain(domain);
  add_output(model, "y");
  return std::string(import_proto(model).status().message());
}

TEST(Findings, NameTheOpsetThatHasANewerOperator) {
  EXPECT_EQ(refusal_of_model("Gelu", 17),
            "not supported: Gelu of opset 17 (\"y\"): opset 20 has it; export the model with that "
            "opset or a later one");
  EXPECT_THAT(refusal_of_model("Mish", 17), HasSubstr("opset 18 has it"));
  EXPECT_THAT(refusal_of_model("Swish", 20), HasSubstr("opset 24 has it"));
  EXPECT_THAT(refusal_of_model("Einsum", 11), HasSubstr("opset 12 has it"));
  EXPECT_THAT(refusal_of_model("CumSum", 10), HasSubstr("opset 11 has it"));
  EXPECT_THAT(refusal_of_model("HardSwish", 13), HasSubstr("opset 14 has it"));
  EXPECT_THAT(refusal_of_model("BitwiseNot", 9), HasSubstr("opset 18 has it"));
  EXPECT_THAT(refusal_of_model("RMSNormalization", 22), HasSubstr("opset 23 has it"));
  EXPECT_THAT(refusal_of_model("TreeEnsemble", 3, "ai.onnx.ml"), HasSubstr("opset 5 has it"));
}

TEST(Findings, NameASimilarOperator) {
  EXPECT_THAT(refusal_of_model("Reluu", 17), HasSubstr("did you mean Relu?"));
  EXPECT_THAT(refusal_of_model("relu", 17), HasSubstr("did you mean Relu?"));
  EXPECT_THAT(refusal_of_model("FusedMatmul", 1, "com.microsoft"),
              HasSubstr("did you mean FusedMatMul?"));
  EXPECT_THAT(refusal_of_model("SomethingElse", 17), Not(HasSubstr("did you mean")));
}

TEST(Findings, HaveTheFaultsOfAllNodes) {
  pb::ModelProto model = model_in(17);
  add_float(add_node(model, "LeakyRelu", {"x"}, {"a"}), "alph", 1).set_name("first");
  add_node(model, "Gelu", {"a"}, {"b"}).set_name("second");
  add_float(add_node(model, "Softmax", {"b"}, {"d"}), "axis", 1).set_name("third");
  add_node(model, "Add", {"d"}, {"e"}).set_name("fourth");
  pb::NodeProto& branch = add_node(model, "If", {"c"}, {"y"});
  for (const char* name : {"then_branch", "else_branch"}) {
    pb::GraphProto& graph = add_graph(branch, name);
    add_float(add_node(graph, "Relu", {"e"}, {name}), "bogus", 1).set_name(name);
    graph.add_output()->set_name(name);
  }
  add_output(model, "y");
  const Status status = import_proto(model).status();
  EXPECT_EQ(status.code(), Code::kUnimplemented);
  EXPECT_THAT(status.message(), HasSubstr("6 faults: "));
  EXPECT_THAT(status.message(),
              HasSubstr("node \"first\" (LeakyRelu): the operator has no attribute \"alph\""));
  EXPECT_THAT(status.message(), HasSubstr("Gelu of opset 17 (\"second\"): opset 20 has it"));
  EXPECT_THAT(status.message(),
              HasSubstr("node \"third\" (Softmax): attribute \"axis\" is of the wrong kind"));
  EXPECT_THAT(status.message(), HasSubstr("node \"fourth\" (Add): input \"B\" is missing"));
  EXPECT_THAT(status.message(), HasSubstr("node \"then_branch\" (Relu)"));
  EXPECT_THAT(status.message(), HasSubstr("node \"else_branch\" (Relu)"));
}

TEST(Findings, AreSoManyThatAMessageStaysReadable) {
  pb::ModelProto model = model_in(17);
  for (int i = 0; i < 100; ++i) {
    add_float(add_node(model, "Relu", {"x"}, {fmt::format("y{}", i)}), "bogus", 1);
  }
  add_output(model, "y0");
  const std::string message(import_proto(model).status().message());
  EXPECT_THAT(message, HasSubstr("faults: node \"y0\""));
  EXPECT_LT(message.size(), 4000U);
}

TEST(Findings, ListAllUnknownAttributesOfANode) {
  pb::ModelProto model = model_in(17);
  pb::NodeProto& node = add_node(model, "Relu", {"x"}, {"y"});
  add_float(add_float(node, "bogus", 1), "alpha", 1);
  add_output(model, "y");
  const std::string message(import_proto(model).status().message());
  EXPECT_THAT(message, HasSubstr("\"bogus\""));
  EXPECT_THAT(message, HasSubstr("\"alpha\""));
}

}  // namespace
}  // namespace sluice::onnx
