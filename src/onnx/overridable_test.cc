// Initializers that callers may override.
#include "onnx/overridable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/fixed_inputs.h"
#include "onnx/testing/onnx_testing.h"

namespace sluice::onnx {
namespace {

using testing::add_graph;
using testing::add_input;
using testing::add_node;
using testing::add_output;
using testing::add_weight;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::import_proto;
using testing::new_model;

/// y = (x * k0) * k1 ..., where each k is an input and an initializer of two floats.
pb::ModelProto product_of(int count) {
  pb::ModelProto model = new_model();
  std::string last = "k0";
  for (int i = 0; i < count; ++i) {
    const std::string name = fmt::format("k{}", i);
    add_input(model, name, pb::TensorProto::FLOAT, {"2"});
    add_weight(model, name, {2}, {1, 2});
    if (i > 0) add_node(model, "Mul", {last, name}, {fmt::format("y{}", i)});
    if (i > 0) last = fmt::format("y{}", i);
  }
  add_input(model, "x", pb::TensorProto::FLOAT, {"2"});
  add_node(model, "Mul", {last, "x"}, {"y"});
  add_output(model, "y");
  return model;
}

std::vector<std::string> inputs_of(const Result<ir::Graph>& graph) {
  if (!graph.is_ok()) return {std::string(graph.status().message())};
  std::vector<std::string> names;
  for (const ir::OperandId id : graph->main().inputs) {
    names.push_back(graph->main().operand(id).name);
  }
  return names;
}

std::vector<std::string> inputs_with(const pb::ModelProto& model,
                                     std::vector<std::string> overridable) {
  ImportOptions options;
  options.overridable = std::move(overridable);
  return inputs_of(import_proto(model, options));
}

TEST(Overridable, InitializersStayInputsBehindTheOthers) {
  pb::ModelProto model = product_of(2);
  EXPECT_THAT(inputs_of(import_proto(model)), ElementsAre("x", "k0", "k1"));
  model.set_ir_version(4);
  EXPECT_THAT(inputs_of(import_proto(model)), ElementsAre("x", "k0", "k1"));
  model.set_ir_version(3);
  EXPECT_THAT(inputs_of(import_proto(model)), ElementsAre("x"));
}

TEST(Overridable, AreNotFilesThatListTheirWeights) {
  EXPECT_EQ(inputs_of(import_proto(product_of(16))).size(), 17U);
  EXPECT_THAT(inputs_of(import_proto(product_of(17))), ElementsAre("x"));
  pb::ModelProto large = product_of(1);
  large.mutable_graph()->mutable_initializer()->Clear();
  add_weight(large, "k0", {10000, 2}, std::vector<float>(20000));
  EXPECT_THAT(inputs_of(import_proto(large)), ElementsAre("x"));
}

TEST(Overridable, AreWhatTheOptionSays) {
  const pb::ModelProto model = product_of(17);
  EXPECT_EQ(inputs_with(model, {"all"}).size(), 18U);
  EXPECT_THAT(inputs_with(model, {"k16", "k3"}), ElementsAre("x", "k3", "k16"));
  EXPECT_THAT(inputs_with(product_of(2), {"none"}), ElementsAre("x"));
  EXPECT_THAT(inputs_with(product_of(2), {"k7"}),
              ElementsAre(HasSubstr("--overridable k7: no such initializer; those that can be are "
                                    "k0, k1")));
  pb::ModelProto old = product_of(2);
  old.set_ir_version(3);
  EXPECT_THAT(inputs_with(old, {"k0"}), ElementsAre(HasSubstr("takes IR version 4")));
}

TEST(Overridable, ThatAreNoInputsOrAreOutputsAreConstants) {
  pb::ModelProto model = product_of(2);
  add_weight(model, "w", {2}, {5, 6});
  add_node(model, "Add", {"y", "w"}, {"z"});
  add_output(model, "z");
  add_output(model, "k1");
  EXPECT_THAT(inputs_of(import_proto(model)), ElementsAre("x", "k0"));
}

/// A dense layer and a scale as exporters with the habit wrote them: every weight is an input.
pb::ModelProto layer_of(const std::string& kind, const std::vector<std::string>& weights) {
  pb::ModelProto model = new_model();
  add_input(model, "x", pb::TensorProto::FLOAT, {"2", "2"});
  std::vector<std::string> inputs = {"x"};
  for (const std::string& name : weights) {
    add_input(model, name, pb::TensorProto::FLOAT, {"2", "2"});
    add_weight(model, name, {2, 2}, {1, 2, 3, 4});
    inputs.push_back(name);
  }
  add_node(model, kind, inputs, {"y"});
  add_input(model, "k", pb::TensorProto::FLOAT, {"2"});
  add_weight(model, "k", {2}, {1, 2});
  add_node(model, "Mul", {"y", "k"}, {"z"});
  add_output(model, "z");
  return model;
}

TEST(Overridable, AreNotTheWeightsOfLayersInFilesThatListAll) {
  EXPECT_THAT(inputs_of(import_proto(layer_of("MatMul", {"w"}))), ElementsAre("x", "k"));
  EXPECT_THAT(inputs_of(import_proto(layer_of("Gemm", {"w", "b"}))), ElementsAre("x", "k"));
  EXPECT_THAT(inputs_with(layer_of("Gemm", {"w", "b"}), {"all"}), ElementsAre("x", "w", "b", "k"));
  EXPECT_THAT(inputs_with(layer_of("Gemm", {"w", "b"}), {"b"}), ElementsAre("x", "b"));
  EXPECT_THAT(inputs_of(import_proto(layer_of("Mul", {"w"}))), ElementsAre("x", "w", "k"));
}

TEST(Overridable, AreWeightsThatAnotherOperationReads) {
  pb::ModelProto model = layer_of("MatMul", {"w"});
  add_node(model, "Neg", {"w"}, {"negative"});
  add_output(model, "negative");
  EXPECT_THAT(inputs_of(import_proto(model)), ElementsAre("x", "w", "k"));
}

TEST(Overridable, AreWeightsThatABodyReads) {
  pb::ModelProto model = layer_of("MatMul", {"w"});
  add_input(model, "c", pb::TensorProto::BOOL, {});
  pb::NodeProto& branch = add_node(model, "If", {"c"}, {"chosen"});
  for (const char* name : {"then_branch", "else_branch"}) {
    pb::GraphProto& body = add_graph(branch, name);
    add_node(body, "Neg", {"w"}, {std::string("result of ") + name});
    body.add_output()->set_name(std::string("result of ") + name);
  }
  add_output(model, "chosen");
  EXPECT_THAT(inputs_of(import_proto(model)), ElementsAre("x", "c", "w", "k"));
}

TEST(Overridable, AreWeightsOfAFileThatListsOnlySome) {
  pb::ModelProto model = layer_of("MatMul", {"w"});
  add_weight(model, "hidden", {2}, {5, 6});
  add_node(model, "Add", {"z", "hidden"}, {"last"});
  add_output(model, "last");
  EXPECT_THAT(inputs_of(import_proto(model)), ElementsAre("x", "w", "k"));
}

TEST(Overridable, AreCountedWhereTheyAreFixed) {
  const auto fixed = [](const Result<ir::Graph>& graph) -> std::string {
    if (!graph.is_ok()) return graph.status().to_string();
    const auto fact = graph->metadata.find(ir::kFixedInputsFact);
    return fact == graph->metadata.end() ? "none" : fact->second;
  };
  EXPECT_EQ(fixed(import_proto(layer_of("Gemm", {"w", "b"}))), "2");
  EXPECT_EQ(fixed(import_proto(product_of(17))), "17");
  EXPECT_EQ(fixed(import_proto(product_of(16))), "none");
  pb::ModelProto old = product_of(2);
  old.set_ir_version(3);
  EXPECT_EQ(fixed(import_proto(old)), "none");
}

TEST(Overridable, HaveTheOpenDimensionsOfTheirInput) {
  pb::ModelProto model = new_model();
  add_input(model, "x", pb::TensorProto::FLOAT, {"N"});
  add_input(model, "k", pb::TensorProto::FLOAT, {"N"});
  add_weight(model, "k", {1}, {3});
  add_node(model, "Mul", {"x", "k"}, {"y"});
  add_output(model, "y");
  const auto graph = import_proto(model);
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
  const ir::Subgraph& main = graph->main();
  EXPECT_EQ(main.operand(main.inputs[0]).type.to_string(), "f32[N]");
  EXPECT_EQ(main.operand(main.inputs[1]).type.to_string(), "f32[k_dim]");
}

TEST(Overridable, KeepTheirValueBesideTheInput) {
  const auto graph = import_proto(product_of(1));
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
  const ir::Subgraph& main = graph->main();
  const ir::Operation& choice = main.operation(main.order()[0]);
  EXPECT_TRUE(choice.is("InputOrDefault", "sluice"));
  EXPECT_EQ(ir::float_values(*main.find_constant(choice.inputs[1])), (std::vector<double>{1, 2}));
}

}  // namespace
}  // namespace sluice::onnx
