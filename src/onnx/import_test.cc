#include "onnx/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/text/graph_text.h"
#include "ir/verify.h"
#include "onnx/testing/onnx_testing.h"

namespace sluice::onnx {
namespace {

using testing::add_input;
using testing::add_node;
using testing::add_output;
using testing::add_weight;
using ::testing::HasSubstr;
using testing::import_proto;
using testing::new_model;
using ::testing::Not;

/// The text of the imported graph, without its facts; the error where there is none.
std::string text_of(const pb::ModelProto& model, const ImportOptions& options = {}) {
  auto graph = import_proto(model, options);
  if (!graph.is_ok()) return graph.status().to_string();
  const Status status = ir::verify(*graph);
  if (!status.is_ok()) return status.to_string();
  graph->metadata.clear();
  return ir::print(*graph);
}

pb::ModelProto relu_of(const std::vector<std::string>& dims) {
  pb::ModelProto model = new_model();
  add_input(model, "x", pb::TensorProto::FLOAT, dims);
  add_node(model, "Relu", {"x"}, {"y"});
  add_output(model, "y");
  return model;
}

TEST(Import, ReadsOneNode) {
  const pb::ModelProto model = relu_of({"N", "3"});
  EXPECT_EQ(text_of(model), R"(subgraph @0 "test" {
  input %x : f32[N,3]
  [%y : f32[N,3]] = Relu.14[%x] "y"
  output [%y]
}
)");
}

TEST(Import, NamesFormatsOfOtherPrograms) {
  const std::pair<std::string, std::string> files[] = {
      {"SLUICE\r\n and more", "compiled already"},
      {std::string("\x18\0\0\0ORTM", 8), "ORT format"},
      {std::string("\x1c\0\0\0TFL3", 8), "tf2onnx"},
      {"PK\x03\x04", "zip archive"},
      {"<!DOCTYPE html>", "XML"},
      {"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"},
      {"\x1f\x8b\x08", "gzip"},
      {"ORTM", "is not an ONNX model"},
      {"P", "is not an ONNX model"},
  };
  for (const auto& [bytes, message] : files) {
    EXPECT_THAT(import_model_bytes(std::as_bytes(std::span(bytes)), {}).status().message(),
                HasSubstr(message));
  }
}

TEST(Import, KeepsFactsAboutTheSource) {
  pb::ModelProto model = relu_of({"N", "3"});
  model.set_producer_name("maker");
  model.set_producer_version("2.1");
  const auto graph = import_proto(model);
  ASSERT_TRUE(graph.is_ok());
  EXPECT_EQ(graph->metadata.at("producer"), "maker 2.1");
  EXPECT_EQ(graph->metadata.at("onnx_opset"), "17");
  EXPECT_EQ(graph->metadata.at("batch_symbol"), "N");
}

TEST(Import, KeepsTheAuthorsMetadata) {
  pb::ModelProto model = relu_of({"N", "3"});
  model.set_doc_string("reads\nlines");
  model.set_domain("org.example");
  model.set_model_version(3);
  auto& entry = *model.add_metadata_props();
  entry.set_key("character");
  entry.set_value("'\"\\\n\t\x01\xE7\x81\xAB");
  const auto graph = import_proto(model);
  ASSERT_TRUE(graph.is_ok());
  EXPECT_EQ(graph->metadata.at("doc"), "reads\nlines");
  EXPECT_EQ(graph->metadata.at("domain"), "org.example");
  EXPECT_EQ(graph->metadata.at("model_version"), "3");
  EXPECT_EQ(graph->metadata.at("metadata.character"), entry.value());
  const auto again = ir::parse_graph(ir::print(*graph));
  ASSERT_TRUE(again.is_ok()) << again.status().message();
  EXPECT_EQ(again->metadata, graph->metadata);
}

TEST(Import, RefusesMetadataOverItsLimit) {
  pb::ModelProto model = relu_of({"N", "3"});
  auto& entry = *model.add_metadata_props();
  entry.set_key("big");
  entry.set_value(std::string((std::size_t{64} << 20) + 1, 'x'));
  const auto graph = import_proto(model);
  ASSERT_FALSE(graph.is_ok());
  EXPECT_THAT(graph.status().message(), HasSubstr("metadata"));
}

TEST(Import, AnyDimensionNameBecomesASymbol) {
  EXPECT_THAT(text_of(relu_of({"batch size", "a+b", "a_b", "", "-1", "max", "_u1"})),
              HasSubstr("input %x : f32[batch_size,a_b,a_b.2,x_dim3,x_dim4,d_max,d__u1]"));
}

TEST(Import, SortsNodes) {
  pb::ModelProto model = new_model();
  add_input(model, "x", pb::TensorProto::FLOAT, {"2"});
  add_node(model, "Relu", {"b"}, {"y"});
  add_node(model, "Sqrt", {"a"}, {"b"});
  add_node(model, "Neg", {"x"}, {"a"});
  add_output(model, "y");
  EXPECT_THAT(text_of(model), HasSubstr(R"(  [%a : f32[2]] = Neg.13[%x] "a"
  [%b : f32[2]] = Sqrt.13[%a] "b"
  [%y : f32[2]] = Relu.14[%b] "y"
)"));
}

TEST(Import, UnreadOutputsBecomeValuesWithoutAName) {
  pb::ModelProto model = new_model();
  add_input(model, "x", pb::TensorProto::FLOAT, {"4"});
  add_node(model, "Split", {"x"}, {"", "b"});
  add_output(model, "b");
  EXPECT_THAT(text_of(model), HasSubstr(" : f32[2], %b : f32[2]] = Split."));
  pb::ModelProto unread = new_model();
  add_input(unread, "x", pb::TensorProto::FLOAT, {"4"});
  add_node(unread, "Split", {"x"}, {"", ""});
  add_node(unread, "Relu", {"x"}, {"y"});
  add_output(unread, "y");
  EXPECT_THAT(text_of(unread), HasSubstr("none of its outputs has a name"));
}

TEST(Import, TakesInitializersAndConstantNodesAsConstants) {
  pb::ModelProto model = new_model();
  add_weight(model, "w", {2}, {1, 2});
  auto& attribute = *add_node(model, "Constant", {}, {"c"}).add_attribute();
  attribute.set_name("value_floats");
  attribute.set_type(pb::AttributeProto::FLOATS);
  attribute.add_floats(3);
  attribute.add_floats(4);
  add_node(model, "Add", {"w", "c"}, {"y"});
  add_output(model, "y");
  EXPECT_EQ(text_of(model), R"(subgraph @0 "test" {
  const %w : f32[2] = [1.0, 2.0]
  const %c : f32[2] = [3.0, 4.0]
  [%y : f32[2]] = Add.14[%w, %c] "y"
  output [%y]
}
)");
}

TEST(Import, FillsSparseInitializersWithZeros) {
  pb::ModelProto model = new_model();
  pb::SparseTensorProto& sparse = *model.mutable_graph()->add_sparse_initializer();
  sparse.add_dims(2);
  sparse.add_dims(3);
  sparse.mutable_values()->set_name("s");
  sparse.mutable_values()->set_data_type(pb::TensorProto::FLOAT);
  sparse.mutable_values()->add_dims(2);
  sparse.mutable_indices()->set_data_type(pb::TensorProto::INT64);
  sparse.mutable_indices()->add_dims(2);
  sparse.mutable_indices()->add_dims(2);
  for (const float value : {5.0F, 7.0F}) sparse.mutable_values()->add_float_data(value);
  for (const std::int64_t index : {0, 1, 1, 2}) sparse.mutable_indices()->add_int64_data(index);
  add_output(model, "s");
  EXPECT_THAT(text_of(model), HasSubstr("const %s : f32[2,3] = [0.0, 5.0, 0.0, 0.0, 0.0, 7.0]"));
}

TEST(Import, BindsSymbolsToTheShapesGiven) {
  pb::ModelProto model = relu_of({"N", "C"});
  add_input(model, "z", pb::TensorProto::FLOAT, {"N"});
  ImportOptions options;
  options.shapes = {{"x", {4, 3}}};
  EXPECT_THAT(text_of(model, options), HasSubstr("input %x : f32[4,3]\n  input %z : f32[4]\n"));
}

TEST(Import, BindsADimensionByItsName) {
  pb::ModelProto model = relu_of({"N", "C"});
  add_input(model, "z", pb::TensorProto::FLOAT, {"N"});
  ImportOptions options;
  options.shapes = {{"N", {4}}};
  EXPECT_THAT(text_of(model, options), HasSubstr("input %x : f32[4,C]\n  input %z : f32[4]\n"));
  options.shapes = {{"N", {4}}, {"x", {4, 3}}};
  EXPECT_THAT(text_of(model, options), HasSubstr("input %x : f32[4,3]\n  input %z : f32[4]\n"));
}

TEST(Import, NameOfAnInputWinsOverThatOfADimension) {
  pb::ModelProto model = relu_of({"z", "C"});
  add_input(model, "z", pb::TensorProto::FLOAT, {"M"});
  ImportOptions options;
  options.shapes = {{"z", {4}}};
  EXPECT_THAT(text_of(model, options), HasSubstr("input %x : f32[z,C]\n  input %z : f32[4]\n"));
}

TEST(Import, RefusesShapesThatContradictTheModel) {
  const auto error = [](std::map<std::string, std::vector<std::int64_t>> shapes) {
    pb::ModelProto model = relu_of({"N", "3"});
    add_input(model, "z", pb::TensorProto::FLOAT, {"N"});
    return text_of(model, ImportOptions{std::move(shapes)});
  };
  EXPECT_THAT(error({{"x", {1, 4}}}),
              HasSubstr("\"x\": dimension 1 is 3 in the model, 4 is requested"));
  EXPECT_THAT(error({{"x", {1}}}), HasSubstr("has 2 dimensions in the model, 1 are requested"));
  EXPECT_THAT(error({{"x", {1, 3}}, {"z", {2}}}),
              HasSubstr("dimension 0: \"N\" is 1 elsewhere; 2 is requested"));
  EXPECT_THAT(
      error({{"image", {1, 3}}}),
      HasSubstr("not an input, nor the name of a dimension of one; the inputs are \"x\", \"z\""));
  EXPECT_THAT(error({{"x", {-1, 3}}}), HasSubstr("negative"));
  EXPECT_THAT(error({{"N", {-1}}}), HasSubstr("\"N\" cannot be negative"));
  EXPECT_THAT(error({{"N", {1, 3}}}), HasSubstr("\"N\" takes one number, 2 are given"));
  EXPECT_THAT(error({{"N", {2}}, {"x", {1, 3}}}),
              HasSubstr("\"N\" is 2 elsewhere; 1 is requested"));
}

/// y = F(x) where F(a) = alpha-elu of relu of a.
pb::ModelProto calling_model() {
  pb::ModelProto model = new_model();
  auto& import = *model.add_opset_import();
  import.set_domain("my");
  import.set_version(1);
  pb::FunctionProto& function = *model.add_functions();
  function.set_domain("my");
  function.set_name("F");
  function.add_input("a");
  function.add_output("r");
  function.add_attribute("alpha");
  function.add_opset_import()->set_version(17);
  for (const auto& [kind, from, to] : {std::tuple("Elu", "h", "r"), std::tuple("Relu", "a", "h")}) {
    pb::NodeProto& node = *function.add_node();
    node.set_op_type(kind);
    node.add_input(from);
    node.add_output(to);
  }
  auto& reference = *function.mutable_node(0)->add_attribute();
  reference.set_name("alpha");
  reference.set_type(pb::AttributeProto::FLOAT);
  reference.set_ref_attr_name("alpha");
  add_input(model, "x", pb::TensorProto::FLOAT, {"2"});
  pb::NodeProto& call = add_node(model, "F", {"x"}, {"y"});
  call.set_domain("my");
  call.set_name("call");
  auto& alpha = *call.add_attribute();
  alpha.set_name("alpha");
  alpha.set_type(pb::AttributeProto::FLOAT);
  alpha.set_f(0.5F);
  add_output(model, "y");
  return model;
}

TEST(Import, InlinesFunctionsWithTheirAttributes) {
  EXPECT_THAT(text_of(calling_model()), HasSubstr(R"(
  [%call/h : f32[2]] = Relu.14[%x] "call/h"
  [%y : f32[2]] = Elu.)"));
  EXPECT_THAT(text_of(calling_model()), HasSubstr("{alpha = 0.5} \"call/r\""));
}

TEST(Import, TakesTheDefaultOfAnAbsentParameter) {
  pb::ModelProto model = calling_model();
  model.mutable_graph()->mutable_node(0)->clear_attribute();
  EXPECT_THAT(text_of(model), HasSubstr("{alpha = 1.0}"));  // the operator's
  pb::AttributeProto alpha;
  alpha.set_name("alpha");
  alpha.set_type(pb::AttributeProto::FLOAT);
  alpha.set_f(0.25F);
  constexpr int kAttributeProto = 11;
  model.mutable_functions(0)->mutable_unknown_fields()->AddLengthDelimited(
      kAttributeProto, alpha.SerializeAsString());
  EXPECT_THAT(text_of(model), HasSubstr("{alpha = 0.25}"));  // the function's
}

TEST(Import, TakesTheOverloadThatANodeNames) {
  constexpr int kFunctionOverload = 13;
  constexpr int kNodeOverload = 8;
  const auto named = [](const char* overload) {
    pb::ModelProto model = calling_model();
    pb::FunctionProto& other = *model.add_functions();
    other = model.functions(0);
    other.mutable_node(0)->set_op_type("Selu");
    other.mutable_unknown_fields()->AddLengthDelimited(kFunctionOverload, "scaled");
    model.mutable_graph()->mutable_node(0)->mutable_unknown_fields()->AddLengthDelimited(
        kNodeOverload, overload);
    return model;
  };
  EXPECT_THAT(text_of(named("")), HasSubstr("= Elu."));
  EXPECT_THAT(text_of(named("scaled")), HasSubstr("= Selu."));
  EXPECT_THAT(text_of(named("other")), HasSubstr("not supported: my::F of opset 1"));
}

TEST(Import, RefusesTwoFunctionsOfOneOverload) {
  pb::ModelProto model = calling_model();
  *model.add_functions() = model.functions(0);
  EXPECT_THAT(text_of(model), HasSubstr("function \"my::F\" is defined twice"));
}

TEST(Import, CopiesInputsThatAFunctionReturns) {
  pb::ModelProto model = calling_model();
  model.mutable_functions(0)->set_output(0, "a");
  model.mutable_graph()->mutable_node(0)->clear_attribute();
  EXPECT_THAT(text_of(model), HasSubstr("[%y : f32[2]] = Identity."));
}

TEST(Import, AcceptsStaleOutputShapesWithAWarning) {
  pb::ModelProto model = relu_of({"2", "3"});
  auto& declared = *model.mutable_graph()->add_value_info();
  declared.set_name("y");
  auto& tensor = *declared.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(pb::TensorProto::FLOAT);
  tensor.mutable_shape()->add_dim()->set_dim_value(7);
  const auto graph = import_proto(model);
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
  EXPECT_EQ(graph->main().operand(graph->main().outputs[0]).type.to_string(), "f32[2,3]");
  EXPECT_THAT(graph->metadata.at("warnings"), HasSubstr("\"y\" is declared as f32[7]"));
}

TEST(Import, AcceptsKnownOperatorSetsThatAreNotImported) {
  pb::ModelProto model = relu_of({"2", "3"});
  model.mutable_graph()->mutable_node(0)->set_op_type("QuickGelu");
  model.mutable_graph()->mutable_node(0)->set_domain("com.microsoft");
  const auto graph = import_proto(model);
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
  EXPECT_THAT(graph->metadata.at("warnings"), HasSubstr("\"com.microsoft\""));
}

TEST(Import, RefusesUnknownOperatorSetsThatAreNotImported) {
  pb::ModelProto model = relu_of({"2", "3"});
  model.mutable_graph()->mutable_node(0)->set_domain("com.y");
  EXPECT_THAT(import_proto(model).status().message(), HasSubstr("\"com.y\""));
}

TEST(Import, AcceptsLayerNormalizationBeforeOpset17) {
  pb::ModelProto model = relu_of({"2", "3"});
  model.mutable_opset_import(0)->set_version(13);
  model.mutable_graph()->mutable_node(0)->set_op_type("LayerNormalization");
  model.mutable_graph()->mutable_node(0)->add_input("s");
  add_weight(model, "s", {3}, {1, 1, 1});
  const auto graph = import_proto(model);
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
  EXPECT_THAT(graph->metadata.at("warnings"), HasSubstr("LayerNormalization"));
}

TEST(Import, ReportsAllUnsupportedOperatorsAtOnce) {
  pb::ModelProto model = new_model();
  auto& import = *model.add_opset_import();
  import.set_domain("com.x");
  import.set_version(3);
  add_input(model, "x", pb::TensorProto::FLOAT, {"2"});
  for (int i = 0; i < 5; ++i) {
    pb::NodeProto& node = add_node(model, "Foo", {"x"}, {"f" + std::to_string(i)});
    node.set_domain("com.x");
    node.set_name("foo" + std::to_string(i));
  }
  add_node(model, "Bar", {"x"}, {"b"});
  add_output(model, "b");
  const auto graph = import_proto(model);
  EXPECT_EQ(graph.status().code(), Code::kUnimplemented);
  EXPECT_EQ(graph.status().message(),
            "not supported: Bar of opset 17 (\"b\"), com.x::Foo of opset 3 (\"foo0\", \"foo1\", "
            "\"foo2\" and 2 more); export the model without them, or register them in the program "
            "that compiles it (sluice/operators.h)");
}

}  // namespace
}  // namespace sluice::onnx
