#include "onnx/maps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/text/graph_text.h"
#include "onnx/testing/onnx_testing.h"

namespace sluice::onnx {
namespace {

using testing::add_input;
using testing::add_node;
using testing::add_output;
using ::testing::HasSubstr;
using testing::import_proto;
using testing::new_model;
using Words = std::vector<std::string>;

pb::ModelProto new_ml_model() {
  pb::ModelProto model = new_model();
  auto& opset = *model.add_opset_import();
  opset.set_domain("ai.onnx.ml");
  opset.set_version(1);
  return model;
}

pb::NodeProto& add_ml_node(pb::ModelProto& model, const std::string& kind, const std::string& input,
                           const std::string& output) {
  pb::NodeProto& node = add_node(model, kind, {input}, {output});
  node.set_domain("ai.onnx.ml");
  return node;
}

void set_words(pb::NodeProto& node, const std::string& name, const Words& words) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(pb::AttributeProto::STRINGS);
  for (const std::string& word : words) attribute.add_strings(word);
}

void set_map_type(pb::TypeProto& type, pb::TensorProto::DataType key,
                  pb::TensorProto::DataType value) {
  type.mutable_map_type()->set_key_type(key);
  type.mutable_map_type()->mutable_value_type()->mutable_tensor_type()->set_elem_type(value);
}

pb::ModelProto zip_map_of(const Words& dims, const Words& labels) {
  pb::ModelProto model = new_ml_model();
  add_input(model, "scores", pb::TensorProto::FLOAT, dims);
  set_words(add_ml_node(model, "ZipMap", "scores", "chances"), "classlabels_strings", labels);
  add_output(model, "chances");
  auto& type = *model.mutable_graph()->mutable_output(0)->mutable_type();
  set_map_type(*type.mutable_sequence_type()->mutable_elem_type(), pb::TensorProto::STRING,
               pb::TensorProto::FLOAT);
  return model;
}

/// A model with one operator on a map from `key` to f32.
pb::ModelProto reader_of_map(const std::string& kind, pb::TensorProto::DataType key) {
  pb::ModelProto model = new_ml_model();
  auto& input = *model.mutable_graph()->add_input();
  input.set_name("x");
  set_map_type(*input.mutable_type(), key, pb::TensorProto::FLOAT);
  add_ml_node(model, kind, "x", "y");
  add_output(model, "y");
  return model;
}

TEST(Maps, ListOfMapsBecomesMatrixWithColumnPerLabel) {
  const auto graph = import_proto(zip_map_of({"N", "3"}, {"red", "green", "a, \"b\""}));
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
  EXPECT_EQ(graph->main().operand(graph->main().outputs[0]).type.to_string(), "f32[N,3]");
  EXPECT_EQ(graph->metadata.at("columns.chances"), R"("red", "green", "a, \"b\"")");
}

TEST(Maps, SingleScoreRowBecomesMatrix) {
  const auto graph = import_proto(zip_map_of({"2"}, {"no", "yes"}));
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
  EXPECT_EQ(graph->main().operand(graph->main().outputs[0]).type.to_string(), "f32[1,2]");
}

TEST(Maps, LabelCountMustMatchColumnCount) {
  const auto graph = import_proto(zip_map_of({"N", "3"}, {"red", "green"}));
  EXPECT_THAT(graph.status().message(), HasSubstr("it lists 2 keys; X [N,3] has 3 columns"));
}

TEST(Maps, MapInputBecomesRowWithColumnPerWord) {
  pb::ModelProto model = reader_of_map("DictVectorizer", pb::TensorProto::STRING);
  set_words(*model.mutable_graph()->mutable_node(0), "string_vocabulary", {"age", "height"});
  const auto graph = import_proto(model);
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
  EXPECT_EQ(graph->main().operand(graph->main().inputs[0]).type.to_string(), "f32[1,2]");
  EXPECT_EQ(graph->main().operand(graph->main().outputs[0]).type.to_string(), "f32[1,2]");
  EXPECT_EQ(graph->metadata.at("columns.x"), R"("age", "height")");
}

TEST(Maps, SparseMapKeepsDeclaredColumnCount) {
  pb::ModelProto model = reader_of_map("CastMap", pb::TensorProto::INT64);
  const auto dense = import_proto(model);
  ASSERT_TRUE(dense.is_ok()) << dense.status().to_string();
  EXPECT_EQ(dense->main().operand(dense->main().outputs[0]).type.to_string(), "f32[1,x_keys]");
  pb::NodeProto& node = *model.mutable_graph()->mutable_node(0);
  auto& form = *node.add_attribute();
  form.set_name("map_form");
  form.set_type(pb::AttributeProto::STRING);
  form.set_s("SPARSE");
  auto& count = *node.add_attribute();
  count.set_name("max_map");
  count.set_type(pb::AttributeProto::INT);
  count.set_i(7);
  const auto sparse = import_proto(model);
  ASSERT_TRUE(sparse.is_ok()) << sparse.status().to_string();
  EXPECT_EQ(sparse->main().operand(sparse->main().inputs[0]).type.to_string(), "f32[1,7]");
}

TEST(Maps, UnreadMapIsRefusedWithRemedy) {
  pb::ModelProto model = reader_of_map("DictVectorizer", pb::TensorProto::STRING);
  model.mutable_graph()->mutable_node(0)->set_op_type("Scaler");
  EXPECT_THAT(import_proto(model).status().message(),
              HasSubstr("input \"x\": is a map, which no DictVectorizer or CastMap reads"));
}

}  // namespace
}  // namespace sluice::onnx
