#include "onnx/import.h"

#include <gtest/gtest.h>

#include "onnx/test_models.h"

namespace sluice::onnx {
namespace {

using testing::add_input;
using testing::add_node;
using testing::import_proto;
using testing::new_model;

TEST(Import, ReadsOneNode) {
  pb::ModelProto model = new_model();
  add_input(model, "x", pb::TensorProto::FLOAT, {"N", "3"});
  add_node(model, "Relu", {"x"}, {"y"});
  model.mutable_graph()->add_output()->set_name("y");
  const auto graph = import_proto(model);
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
  const ir::Subgraph& main = graph->main();
  ASSERT_EQ(main.num_operations(), 1U);
  EXPECT_EQ(main.operand(main.outputs[0]).type.to_string(), "f32[N,3]");
  EXPECT_EQ(graph->metadata.at("batch_symbol"), "N");
}

}  // namespace
}  // namespace sluice::onnx
