#include "onnx/proto/split_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "onnx/proto/proto.h"
#include "onnx/testing/onnx_testing.h"

namespace sluice::onnx {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

/// Three weights, the second small.
pb::ModelProto example() {
  pb::ModelProto model = testing::new_model();
  testing::add_input(model, "x", pb::TensorProto::FLOAT, {"2000"});
  testing::add_weight(model, "a", {2000}, std::vector<float>(2000, 1.5F));
  testing::add_weight(model, "b", {1}, {2});
  testing::add_weight(model, "c", {1500}, std::vector<float>(1500, -3));
  testing::add_node(model, "Add", {"x", "a"}, {"y"});
  testing::add_output(model, "y");
  return model;
}

TEST(SplitModel, TakesLargeRawDataOutAndKeepsTheRest) {
  pb::ModelProto model = example();
  const std::string whole = model.SerializeAsString();
  const auto split = split_model(bytes_of(whole));
  ASSERT_TRUE(split);
  ASSERT_EQ(split->raw.size(), 3U);
  EXPECT_EQ(split->raw[0].size(), 8000U);
  EXPECT_TRUE(split->raw[1].empty());
  EXPECT_TRUE(std::ranges::equal(split->raw[2], bytes_of(model.graph().initializer(2).raw_data())));
  model.mutable_graph()->mutable_initializer(0)->clear_raw_data();
  model.mutable_graph()->mutable_initializer(2)->clear_raw_data();
  pb::ModelProto rest;
  ASSERT_TRUE(rest.ParseFromString(split->message));
  EXPECT_EQ(rest.SerializeAsString(), model.SerializeAsString());
}

TEST(SplitModel, LeavesSmallModelsAlone) {
  pb::ModelProto model = testing::new_model();
  testing::add_weight(model, "b", {1}, {2});
  EXPECT_FALSE(split_model(bytes_of(model.SerializeAsString())));
}

TEST(SplitModel, LeavesATensorWithTwoRawDataToProtobuf) {
  const pb::ModelProto model = example();
  pb::ModelProto more;
  more.mutable_graph()->add_initializer()->set_raw_data(std::string(5000, 'x'));
  // One TensorProto of two: fields of messages one after the other merge.
  const std::string tensor = model.graph().initializer(0).SerializeAsString();
  pb::ModelProto merged = model;
  std::string twice = tensor + more.graph().initializer(0).SerializeAsString();
  ASSERT_TRUE(merged.mutable_graph()->mutable_initializer(0)->ParseFromString(twice));
  EXPECT_EQ(merged.graph().initializer(0).raw_data().size(), 5000U);
  std::string graph = "\x2A";  // field 5 of a graph: an initializer
  graph += static_cast<char>(0x80U | (twice.size() & 0x7FU));
  graph += static_cast<char>(twice.size() >> 7U & 0x7FU);
  ASSERT_LT(twice.size(), std::size_t{1} << 14U);
  graph += twice;
  std::string bytes = "\x3A";  // field 7 of a model: its graph
  bytes += static_cast<char>(0x80U | (graph.size() & 0x7FU));
  bytes += static_cast<char>(graph.size() >> 7U & 0x7FU);
  bytes += graph;
  EXPECT_FALSE(split_model(bytes_of(bytes)));
}

TEST(SplitModel, EveryTruncationIsProtobufsError) {
  const std::string whole = example().SerializeAsString();
  for (std::size_t size = 0; size < whole.size(); size += 97) {
    const std::string part = whole.substr(0, size);
    const auto split = split_model(bytes_of(part));
    pb::ModelProto parsed;
    // A cut between two fields of the model is a model.
    EXPECT_TRUE(!split || parsed.ParseFromString(part)) << size;
  }
}

TEST(SplitModel, ImportedWeightsHaveTheirValues) {
  const auto graph = testing::import_proto(example());
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
  const ir::Subgraph& main = graph->main();
  int found = 0;
  for (std::size_t i = 0; i < main.num_operands(); ++i) {
    const ir::Constant* constant = main.find_constant(ir::OperandId(i));
    if (constant == nullptr || main.operand(ir::OperandId(i)).name != "a") continue;
    EXPECT_EQ(ir::float_values(*constant), std::vector<double>(2000, 1.5));
    ++found;
  }
  EXPECT_EQ(found, 1);
}

TEST(SplitModel, RawDataOfAWrongSizeIsRefusedBySize) {
  pb::ModelProto model = example();
  model.mutable_graph()->mutable_initializer(0)->mutable_raw_data()->append("abc");
  const auto graph = testing::import_proto(model);
  ASSERT_FALSE(graph.is_ok());
  EXPECT_NE(graph.status().to_string().find("has 8003 bytes of data"), std::string::npos)
      << graph.status().to_string();
}

}  // namespace
}  // namespace sluice::onnx
