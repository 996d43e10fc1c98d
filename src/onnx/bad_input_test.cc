// Models that must be refused: with one line that names the culprit, and never with a crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "onnx/import.h"
#include "onnx/testing/onnx_testing.h"

namespace sluice::onnx {
namespace {

using testing::add_graph;
using testing::add_input;
using testing::add_node;
using testing::add_output;
using testing::add_weight;
using ::testing::HasSubstr;
using testing::import_proto;
using testing::new_model;
using ::testing::Not;

pb::ModelProto small_model() {
  pb::ModelProto model = new_model();
  add_input(model, "x", pb::TensorProto::FLOAT, {"2"});
  add_weight(model, "w", {2}, {1, 2});
  add_node(model, "Add", {"x", "w"}, {"y"}).set_name("sum");
  add_output(model, "y");
  return model;
}

void expect_refused(const pb::ModelProto& model, const std::string& why) {
  const auto graph = import_proto(model);
  ASSERT_FALSE(graph.is_ok()) << "wanted: " << why;
  EXPECT_THAT(graph.status().message(), HasSubstr(why));
  EXPECT_THAT(graph.status().message(), Not(HasSubstr("\n")));
}

Status import_text(const std::string& bytes) {
  return import_model_bytes(std::as_bytes(std::span<const char>(bytes)), {}).status();
}

TEST(BadModel, TruncationNeverCrashes) {
  const std::string whole = small_model().SerializeAsString();
  ASSERT_TRUE(import_text(whole).is_ok());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(import_text(whole.substr(0, size)).is_ok()) << size << " bytes";
  }
}

TEST(BadModel, FlippedBitsNeverCrash) {
  const std::string whole = small_model().SerializeAsString();
  for (std::size_t i = 0; i < whole.size() * 8; ++i) {
    std::string flipped = whole;
    flipped[i / 8] = static_cast<char>(flipped[i / 8] ^ (1 << (i % 8)));
    (void)import_text(flipped);
  }
}

TEST(BadModel, FilesOfOtherFormatsAreRefused) {
  EXPECT_THAT(import_text("PK\x03\x04 not a model").message(), HasSubstr("is a zip archive"));
  EXPECT_THAT(import_text("").message(), HasSubstr("has no graph"));
  EXPECT_THAT(import_model("/nonexistent/m.onnx").status().message(),
              HasSubstr("cannot open \"/nonexistent/m.onnx\""));
}

TEST(BadModel, CyclesAreNamed) {
  pb::ModelProto model = small_model();
  add_node(model, "Relu", {"b"}, {"a"}).set_name("first");
  add_node(model, "Relu", {"a"}, {"b"}).set_name("second");
  expect_refused(model, "cycle through node \"first\" (Relu), node \"second\" (Relu)");
}

TEST(BadModel, CyclesThroughABodyAreFound) {
  pb::ModelProto model = small_model();
  add_input(model, "c", pb::TensorProto::BOOL, {});
  pb::NodeProto& node = add_node(model, "If", {"c"}, {"z"});
  pb::GraphProto& branch = add_graph(node, "then_branch");
  add_node(branch, "Relu", {"z"}, {"t"});
  branch.add_output()->set_name("t");
  expect_refused(model, "cycle through node \"z\" (If)");
}

TEST(BadModel, MissingValuesAreNamed) {
  pb::ModelProto model = small_model();
  model.mutable_graph()->mutable_node(0)->set_input(0, "ghost");
  expect_refused(model, "node \"sum\" (Add): input \"ghost\" is not an input");
  model = small_model();
  model.mutable_graph()->mutable_output(0)->set_name("ghost");
  expect_refused(model, "output \"ghost\" of graph \"test\" is written by no node");
  model = small_model();
  model.mutable_graph()->mutable_node(0)->mutable_input()->RemoveLast();
  expect_refused(model, "node \"sum\" (Add): input \"B\" is missing");
}

TEST(BadModel, DuplicateNamesAreRefused) {
  pb::ModelProto model = small_model();
  add_node(model, "Relu", {"x"}, {"y"}).set_name("twin");
  expect_refused(model, "\"y\" is an output of node \"sum\" (Add) and of node \"twin\" (Relu)");
  model = small_model();
  add_weight(model, "w", {2}, {1, 2});
  expect_refused(model, "two values are named \"w\"");
  model = small_model();
  add_node(model, "Relu", {"x"}, {"w"});
  expect_refused(model, "two values are named \"w\"");
  model = small_model();
  add_input(model, "x", pb::TensorProto::FLOAT, {"2"});
  expect_refused(model, "two values are named \"x\"");
}

TEST(BadModel, ConstantDataOfWrongSizeIsRefused) {
  pb::ModelProto model = small_model();
  model.mutable_graph()->mutable_initializer(0)->set_dims(0, 3);
  expect_refused(model, "tensor \"w\": has 8 bytes of data; type and shape need 12");
  pb::TensorProto& tensor = *model.mutable_graph()->mutable_initializer(0);
  tensor.clear_raw_data();
  tensor.add_float_data(1);
  expect_refused(model, "tensor \"w\": has 1 values; type and shape need 3");
}

TEST(BadModel, HugeShapesAreRefused) {
  pb::ModelProto model = small_model();
  pb::TensorProto& tensor = *model.mutable_graph()->mutable_initializer(0);
  tensor.set_dims(0, std::int64_t{1} << 40);
  tensor.add_dims(std::int64_t{1} << 40);
  expect_refused(model, "tensor \"w\": shape [1099511627776,1099511627776] has more elements");
  tensor.set_dims(1, 1);
  expect_refused(model, "tensor \"w\": has 8 bytes of data");
  tensor.set_dims(0, std::numeric_limits<std::int64_t>::max());
  expect_refused(model, "tensor \"w\": has a size that overflows 64 bits");
  tensor.set_dims(0, -2);
  expect_refused(model, "negative dimension");
}

TEST(BadModel, SizesThatOverflowInInferenceAreRefused) {
  pb::ModelProto model = new_model();
  const std::string huge = std::to_string(std::int64_t{1} << 40);
  add_input(model, "x", pb::TensorProto::FLOAT, {huge, "1"});
  add_input(model, "z", pb::TensorProto::FLOAT, {"1", huge});
  add_node(model, "Add", {"x", "z"}, {"y"}).set_name("sum");
  add_output(model, "y");
  expect_refused(model, "node \"sum\" (Add): output 0 of shape");
}

TEST(BadModel, SparseTensorsStayInBounds) {
  pb::ModelProto model = small_model();
  pb::SparseTensorProto& sparse = *model.mutable_graph()->add_sparse_initializer();
  sparse.add_dims(4);
  sparse.mutable_values()->set_name("s");
  sparse.mutable_values()->set_data_type(pb::TensorProto::FLOAT);
  sparse.mutable_values()->add_dims(1);
  sparse.mutable_values()->add_float_data(1);
  sparse.mutable_indices()->set_data_type(pb::TensorProto::INT64);
  sparse.mutable_indices()->add_dims(1);
  sparse.mutable_indices()->add_int64_data(4);
  expect_refused(model, "sparse tensor \"s\": index 4 is not below 4");
  sparse.mutable_indices()->set_int64_data(0, -1);
  expect_refused(model, "index -1 is not below 4");
  sparse.set_dims(0, std::int64_t{1} << 40);
  expect_refused(model, "need more than 1073741824 bytes");
}

TEST(BadModel, TypesThatClashAreRefused) {
  pb::ModelProto model = small_model();
  add_input(model, "i", pb::TensorProto::INT64, {"2"});
  model.mutable_graph()->mutable_node(0)->set_input(0, "i");
  expect_refused(model, "node \"sum\" (Add): input \"B\" has element type f32");
  model = small_model();
  model.mutable_graph()->mutable_input(0)->clear_type();
  expect_refused(model, "input \"x\" has no type");
  model = small_model();
  model.mutable_graph()->mutable_initializer(0)->set_data_type(99);
  expect_refused(model, "tensor \"w\": has the unknown element type 99");
}

TEST(BadModel, DeepNestingIsRefused) {
  pb::ModelProto model = small_model();
  add_input(model, "c", pb::TensorProto::BOOL, {});
  pb::GraphProto* graph = model.mutable_graph();
  for (int i = 0; i < 200; ++i) {
    pb::NodeProto& node = add_node(*graph, "If", {"c"}, {"z" + std::to_string(i)});
    graph = &add_graph(node, "then_branch");
  }
  EXPECT_FALSE(import_proto(model).is_ok());
}

/// my::F calls itself `calls` times, or my::G does.
pb::ModelProto broken_call_model(int calls, bool is_recursive) {
  pb::ModelProto model = small_model();
  auto& import = *model.add_opset_import();
  import.set_domain("my");
  import.set_version(1);
  constexpr int kLevels = 20;
  for (int level = 0; level < kLevels; ++level) {
    pb::FunctionProto& function = *model.add_functions();
    function.set_domain("my");
    function.set_name("F" + std::to_string(level));
    function.add_input("a");
    function.add_output("r0");
    const bool is_last = level == kLevels - 1;
    for (int i = 0; i < calls; ++i) {
      pb::NodeProto& node = *function.add_node();
      node.set_domain(is_last && !is_recursive ? "" : "my");
      node.set_op_type(is_last ? (is_recursive ? "F0" : "Relu") : "F" + std::to_string(level + 1));
      node.add_input("a");
      node.add_output("r" + std::to_string(i));
    }
  }
  add_node(model, "F0", {"x"}, {"z"}).set_domain("my");
  return model;
}

TEST(BadModel, FunctionsThatCallThemselvesAreRefused) {
  expect_refused(broken_call_model(1, true),
                 "the function \"F0\" calls itself, or one that calls it");
}

TEST(BadModel, FunctionsThatInlineToTooManyNodesAreRefused) {
  expect_refused(broken_call_model(8, false), "inline to too many nodes");
}

TEST(BadModel, NamesThatWouldGarbleMessagesAreRefused) {
  pb::ModelProto model = small_model();
  model.mutable_graph()->mutable_node(0)->set_name("two\nlines");
  expect_refused(model, "the name \"two\\x0alines\"");
  model.mutable_graph()->mutable_node(0)->set_name("\xff\xfe");
  expect_refused(model, "the name \"\\xff\\xfe\"");
  model.mutable_graph()->mutable_node(0)->set_name(std::string(5000, 'n'));
  expect_refused(model, "passes 4096 bytes");
}

TEST(BadModel, InvalidOperatorSetVersionsAreRefused) {
  pb::ModelProto model = small_model();
  model.mutable_opset_import(0)->set_version(1000);
  expect_refused(model, "imports opset 1000; the newest supported is");
  model.mutable_opset_import(0)->set_version(-3);
  expect_refused(model, "the version -3 of operator set \"ai.onnx\" is below 1");
  model.clear_opset_import();
  expect_refused(model,
                 "node \"sum\" (Add): the model imports no version of operator set \"ai.onnx\"");
}

TEST(BadModel, AttributesAreCheckedForKindAndCount) {
  pb::ModelProto model = small_model();
  pb::NodeProto& node = add_node(model, "Elu", {"x"}, {"z"});
  node.set_name("elu");
  auto& attribute = *node.add_attribute();
  attribute.set_name("alpha");
  attribute.set_type(pb::AttributeProto::INT);
  attribute.set_i(1);
  expect_refused(model, "node \"elu\" (Elu): attribute \"alpha\" is of the wrong kind");
  *node.add_attribute() = attribute;
  expect_refused(model, "node \"elu\" (Elu): attribute \"alpha\" is given twice");
  node.mutable_attribute()->RemoveLast();
  node.mutable_attribute(0)->set_type(pb::AttributeProto::UNDEFINED);
  node.mutable_attribute(0)->clear_i();
  expect_refused(model, "attribute \"alpha\": has no value");
}

TEST(BadModel, OutputWithoutTypeIsRefused) {
  pb::ModelProto model = new_model();
  auto& input = *model.mutable_graph()->add_input();
  input.set_name("x");
  input.mutable_type()->mutable_optional_type();
  add_node(model, "OptionalGetElement", {"x"}, {"y"});
  add_output(model, "y");
  EXPECT_EQ(import_proto(model).status().message(),
            "the type of output \"y\" cannot be inferred; export the model with types");
}

}  // namespace
}  // namespace sluice::onnx
