// Initializers that callers may override.
#include "onnx/overridable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "onnx/testing/onnx_testing.h"

namespace sluice::onnx {
namespace {

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
