// Attributes that a node of a file may not have.
#include "onnx/faults/attribute_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "onnx/testing/onnx_testing.h"
#include "ops/custom.h"
#include "ops/inference.h"

namespace sluice::onnx {
namespace {

using testing::add_graph;
using testing::add_input;
using testing::add_node;
using testing::add_output;
using ::testing::HasSubstr;
using testing::import_proto;
using testing::new_model;

pb::AttributeProto& add_attribute(pb::NodeProto& node, const std::string& name) {
  pb::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  return attribute;
}

void set_int(pb::NodeProto& node, const std::string& name, std::int64_t value) {
  pb::AttributeProto& attribute = add_attribute(node, name);
  attribute.set_type(pb::AttributeProto::INT);
  attribute.set_i(value);
}

void set_ints(pb::NodeProto& node, const std::string& name, std::int64_t value) {
  pb::AttributeProto& attribute = add_attribute(node, name);
  attribute.set_type(pb::AttributeProto::INTS);
  attribute.add_ints(value);
}

/// y = kind(x) in an opset of the domain.
pb::ModelProto model_of(const std::string& kind, int opset, const std::string& domain = "") {
  pb::ModelProto model = new_model();
  if (!domain.empty()) model.add_opset_import()->set_domain(domain);
  model.mutable_opset_import()->rbegin()->set_version(opset);
  add_input(model, "x", pb::TensorProto::FLOAT, {"2", "3"});
  pb::NodeProto& node = add_node(model, kind, {"x"}, {"y"});
  node.set_name("culprit");
  node.set_domain(domain);
  add_output(model, "y");
  return model;
}

pb::NodeProto& node_of(pb::ModelProto& model) { return *model.mutable_graph()->mutable_node(0); }

std::string refusal(const pb::ModelProto& model) {
  const auto graph = import_proto(model);
  return graph.is_ok() ? "accepted" : graph.status().message();
}

TEST(AttributeNames, NamesOfAnotherOpsetAreRefusedWithTheWayOut) {
  pb::ModelProto model = model_of("ReduceSum", 20);
  set_ints(node_of(model), "axes", 1);
  EXPECT_EQ(refusal(model),
            "node \"culprit\" (ReduceSum): the operator has no attribute \"axes\" in opset 20: it "
            "is an input since opset 13");
  model.mutable_opset_import(0)->set_version(11);
  EXPECT_EQ(refusal(model), "accepted");
  model = model_of("ReduceMax", 13);
  set_int(node_of(model), "noop_with_empty_axes", 1);
  EXPECT_THAT(refusal(model), HasSubstr("in opset 13: it came with opset 18"));
  model = model_of("BatchNormalization", 9);
  set_int(node_of(model), "spatial", 1);
  EXPECT_THAT(refusal(model), HasSubstr("it no longer exists since opset 9"));
}

TEST(AttributeNames, MisspelledAreRefusedWithTheRightOne) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"LeakyRelu", "alph", "did you mean \"alpha\"?"},
      {"Softmax", "axs", "did you mean \"axis\"?"},
      {"Transpose", "permutation", "did you mean \"perm\"?"},
      {"ReduceMean", "keep_dims", "did you mean \"keepdims\"?"},
      {"MaxPool", "kernelShape", "did you mean \"kernel_shape\"?"},
      {"Gemm", "trans_A", "did you mean \"transA\"?"},
      {"Gelu", "quality", "it takes approximate"},
      {"Relu", "bogus", "it takes none"}};
  for (const auto& [kind, attribute, advice] : cases) {
    pb::ModelProto model = model_of(kind, 20);
    set_int(node_of(model), attribute, 1);
    EXPECT_THAT(refusal(model),
                HasSubstr(fmt::format("\"{}\" in opset 20: {}", attribute, advice)));
  }
}

TEST(AttributeNames, NamesOfOtherDomainsAreChecked) {
  pb::ModelProto model = model_of("FastGelu", 1, "com.microsoft");
  set_int(node_of(model), "approximate", 1);
  EXPECT_THAT(refusal(model),
              HasSubstr("no attribute \"approximate\" in opset 1 of com.microsoft"));
  model = model_of("Scaler", 3, "ai.onnx.ml");
  set_int(node_of(model), "offsets", 1);
  EXPECT_THAT(refusal(model), HasSubstr("did you mean \"offset\"?"));
  model = model_of("Adam", 1, "ai.onnx.preview.training");
  set_int(node_of(model), "gamma", 1);
  EXPECT_THAT(refusal(model), HasSubstr("it takes alpha, beta, epsilon"));
  model = model_of("Affine", 7);
  set_int(node_of(model), "gamma", 1);
  EXPECT_THAT(refusal(model), HasSubstr("it takes alpha, beta"));
}

TEST(AttributeNames, NamesOfSluiceItselfCannotComeFromAFile) {
  pb::ModelProto model = model_of("Identity", 17);
  set_int(node_of(model), "sluice_variant", 1);
  EXPECT_THAT(refusal(model), HasSubstr("attribute \"sluice_variant\" cannot come from a file"));
  model = model_of("Relu", 17);
  set_int(node_of(model), "captures", 5);
  EXPECT_THAT(refusal(model), HasSubstr("no attribute \"captures\""));
  model = model_of("Reorder", 1, "sluice");
  EXPECT_THAT(refusal(model), HasSubstr("domain \"sluice\" cannot come from a file"));
}

TEST(AttributeNames, UnknownGraphAttributesAreRefused) {
  pb::ModelProto model = model_of("RandomNormal", 17);
  node_of(model).clear_input();
  set_ints(node_of(model), "shape", 2);
  pb::GraphProto& body = add_graph(node_of(model), "body");
  add_node(body, "Relu", {"x"}, {"z"});
  body.add_output()->set_name("z");
  EXPECT_THAT(refusal(model), HasSubstr("no attribute \"body\""));
}

TEST(AttributeNames, NamesOfConstantsAreChecked) {
  pb::ModelProto model = model_of("Constant", 11);
  node_of(model).clear_input();
  set_int(node_of(model), "value_int", 2);
  EXPECT_THAT(refusal(model), HasSubstr("\"value_int\" in opset 11: it came with opset 12"));
}

TEST(AttributeNames, InsideOfGraphsAndFunctionsAreChecked) {
  pb::ModelProto model = model_of("Inner", 17, "mine");
  pb::FunctionProto& function = *model.add_functions();
  function.set_domain("mine");
  function.set_name("Inner");
  function.add_input("a");
  function.add_output("b");
  pb::OperatorSetIdProto& imported = *function.add_opset_import();
  imported.set_version(20);
  pb::NodeProto& inner = *function.add_node();
  inner.set_op_type("ReduceSum");
  inner.set_name("inner");
  inner.add_input("a");
  inner.add_output("b");
  set_int(node_of(model), "anything", 1);  // a function may ignore it, as for other runtimes
  EXPECT_EQ(refusal(model), "accepted");
  set_ints(inner, "axes", 1);
  EXPECT_THAT(refusal(model), HasSubstr("node \"inner\" (ReduceSum)"));
  EXPECT_THAT(refusal(model), HasSubstr("\"axes\" in opset 20"));
}

TEST(AttributeNames, ProgramsOperatorsHaveNamesOfTheirOwn) {
  const auto infer = [](ops::InferenceContext& context) {
    context.set_output(0, context.element(0), *context.shape(0));
    return ok_status();
  };
  ASSERT_TRUE(ops::add_custom_operator({.domain = "attribute.names", .name = "Own", .infer = infer})
                  .is_ok());
  pb::ModelProto model = model_of("Own", 1, "attribute.names");
  set_int(node_of(model), "anything", 1);
  EXPECT_EQ(refusal(model), "accepted");
  set_int(node_of(model), "sluice_weights", 1);
  EXPECT_THAT(refusal(model), HasSubstr("\"sluice_weights\" cannot come from a file"));
}

}  // namespace
}  // namespace sluice::onnx
