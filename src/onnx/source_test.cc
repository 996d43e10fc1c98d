#include "onnx/source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/source.h"
#include "onnx/testing/onnx_testing.h"

namespace sluice::onnx {
namespace {

using testing::add_input;
using testing::add_node;
using testing::add_output;
using testing::import_proto;
using testing::new_model;

/// Adds an entry of metadata_props, field 9, as a file has it: ONNX 1.12 does not know the field.
void add_property(pb::NodeProto& node, const std::string& key, const std::string& value) {
  pb::StringStringEntryProto entry;
  entry.set_key(key);
  entry.set_value(value);
  std::string bytes;
  ASSERT_TRUE(node.SerializeToString(&bytes));
  const std::string inner = entry.SerializeAsString();
  bytes += static_cast<char>(9 << 3 | 2);
  for (std::size_t left = inner.size(); true; left >>= 7U) {
    bytes += static_cast<char>((left & 0x7FU) | (left > 0x7FU ? 0x80U : 0U));
    if (left <= 0x7FU) break;
  }
  ASSERT_TRUE(node.ParseFromString(bytes + inner));
}

constexpr const char* kTrace =
    "  File \"/code/train.py\", line 7, in main\n    net(x)\n"
    "  File \"/code/model.py\", line 42, in forward\n    x = self.linear(x)\n"
    "  File \"/venv/site-packages/torch/nn/modules/linear.py\", line 125, in forward\n";

TEST(Source, IsTheInnermostLineOutsideOfLibrariesAndTheModule) {
  pb::NodeProto node;
  add_property(node, "pkg.torch.onnx.stack_trace", kTrace);
  EXPECT_EQ(describe_source(node), "model.py:42");
  add_property(node, "namespace", ": Net/encoder.layer.2: Layer/linear_5: aten.linear.default");
  EXPECT_EQ(describe_source(node), "model.py:42 (encoder.layer.2)");
  add_property(node, "pkg.torch.onnx.name_scopes",
               "['', 'encoder', 'encoder.layer.3', 'linear_5']");
  EXPECT_EQ(describe_source(node), "model.py:42 (encoder.layer.3)");
}

TEST(Source, FramesOfLibrariesAloneGiveTheirLine) {
  pb::NodeProto node;
  add_property(
      node, "pkg.torch.onnx.stack_trace",
      "File \"/v/site-packages/a.py\", line 1, in f\nFile \"/v/site-packages/b.py\", line 2");
  EXPECT_EQ(describe_source(node), "b.py:2");
}

TEST(Source, OlderExporterPutsItIntoTheDocString) {
  pb::NodeProto node;
  node.set_doc_string(
      "/venv/site-packages/torch/nn/functional.py(1848): linear\n"
      "/code/model.py(42): forward\n/home/ann/train.py(7): <module>\n");
  EXPECT_EQ(describe_source(node), "model.py:42");
}

TEST(Source, OtherTextsGiveNone) {
  for (const char* text :
       {"", "File", "File \"", "File \"x\", line ", "a(b): c", "['", "['a'", "/"}) {
    pb::NodeProto node;
    node.set_doc_string(text);
    add_property(node, "pkg.torch.onnx.stack_trace", text);
    add_property(node, "pkg.torch.onnx.name_scopes", text);
    EXPECT_EQ(describe_source(node), "") << text;
  }
  pb::NodeProto node;
  add_property(node, "pkg.torch.onnx.name_scopes", "['', '" + std::string(5000, 'x') + "', 'n']");
  EXPECT_EQ(describe_source(node), "") << "too long to show";
  add_property(node, "namespace", "\xFF\xFE/a: b");
}

TEST(Source, IsImportedWithTheNodes) {
  pb::ModelProto model = new_model();
  add_input(model, "x", pb::TensorProto::FLOAT, {"2"});
  pb::NodeProto& node = add_node(model, "Relu", {"x"}, {"y"});
  node.set_name("relu1");
  add_property(node, "pkg.torch.onnx.stack_trace", kTrace);
  add_output(model, "y");
  const auto graph = import_proto(model);
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
  EXPECT_EQ(*ir::find_source(*graph, "relu1"), "model.py:42");
}

}  // namespace
}  // namespace sluice::onnx
