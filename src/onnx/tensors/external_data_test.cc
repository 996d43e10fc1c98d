#include "onnx/tensors/external_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "onnx/import.h"
#include "onnx/testing/onnx_testing.h"
#include "support/paths.h"

namespace sluice::onnx {
namespace {

using sluice::testing::TempDir;
using ::testing::HasSubstr;

/// A model whose weight of four f32 lies at the place given; y = w.
class ExternalDataTest : public ::testing::Test {
 protected:
  ExternalDataTest() {
    const float values[] = {1, 2, 3, 4, 5};
    std::ofstream(folder_ / "w.bin", std::ios::binary)
        .write(reinterpret_cast<const char*>(values), sizeof(values));
  }

  Result<ir::Graph> import(const std::string& location, const std::string& offset = "",
                           const std::string& length = "") {
    pb::ModelProto model = testing::new_model();
    pb::TensorProto& tensor = testing::add_weight(model, "w", {4}, {});
    tensor.clear_raw_data();
    tensor.set_data_location(pb::TensorProto::EXTERNAL);
    const auto add = [&](const std::string& key, const std::string& value) {
      if (value.empty()) return;
      tensor.add_external_data()->set_key(key);
      tensor.mutable_external_data()->rbegin()->set_value(value);
    };
    add("location", location);
    add("offset", offset);
    add("length", length);
    testing::add_output(model, "w");
    std::ofstream(folder_ / "m.onnx", std::ios::binary) << model.SerializeAsString();
    return import_model(folder_ / "m.onnx");
  }

  void expect_refused(const Result<ir::Graph>& graph, const std::string& why) {
    ASSERT_FALSE(graph.is_ok()) << "wanted: " << why;
    EXPECT_THAT(graph.status().message(), HasSubstr(why));
    EXPECT_THAT(graph.status().message(), HasSubstr("tensor \"w\""));
  }

  TempDir folder_;
};

std::vector<double> weight(const Result<ir::Graph>& graph) {
  if (!graph.is_ok()) return {};
  const ir::Subgraph& main = graph->main();
  return ir::float_values(*main.find_constant(main.outputs[0])).value_or(std::vector<double>());
}

TEST_F(ExternalDataTest, IsReadAtItsOffset) {
  EXPECT_EQ(weight(import("w.bin")), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(weight(import("w.bin", "4", "16")), (std::vector<double>{2, 3, 4, 5}));
}

TEST_F(ExternalDataTest, IsAlignedForItsElements) {
  const auto graph = import("w.bin", "3");
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
  const ir::Subgraph& main = graph->main();
  const auto* data = main.find_constant(main.outputs[0])->data.data();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % alignof(float), 0U);
}

TEST_F(ExternalDataTest, StaysInsideTheModelsFolder) {
  expect_refused(import("../w.bin"), "\"../w.bin\" is not inside the model's folder");
  expect_refused(import("a/../../w.bin"), "is not inside the model's folder");
  expect_refused(import((folder_ / "w.bin").string()), "is not inside the model's folder");
  expect_refused(import(""), "is not inside the model's folder");
  TempDir outside;
  std::ofstream(outside / "w.bin") << std::string(64, 'a');
  std::filesystem::create_symlink(outside / "w.bin", folder_ / "link.bin");
  expect_refused(import("link.bin"), "is a link out of its folder");
  std::filesystem::create_directory_symlink(outside.path(), folder_ / "dir");
  expect_refused(import("dir/w.bin"), "is a link out of its folder");
}

TEST_F(ExternalDataTest, StaysInsideItsFile) {
  expect_refused(import("w.bin", "8"), "passes the end of \"w.bin\", which has 20 bytes");
  expect_refused(import("w.bin", "9223372036854775807"), "passes the end of \"w.bin\"");
  expect_refused(import("w.bin", "-4"), "external data has no valid offset");
  expect_refused(import("w.bin", "four"), "external data has no valid offset");
  expect_refused(import("w.bin", "0", "99999999999999999999"), "has no valid length");
  expect_refused(import("w.bin", "0", "12"), "has 12 bytes; type and shape need 16");
}

TEST_F(ExternalDataTest, MustBeARegularFileThatExists) {
  expect_refused(import("other.bin"), "\"other.bin\" cannot be opened");
  std::filesystem::create_directory(folder_ / "folder");
  expect_refused(import("folder"), "not a regular file");
  ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  expect_refused(import("fifo"), "not a regular file");
}

TEST(ExternalData, NeedsAFolder) {
  pb::ModelProto model = testing::new_model();
  pb::TensorProto& tensor = testing::add_weight(model, "w", {4}, {});
  tensor.clear_raw_data();
  tensor.set_data_location(pb::TensorProto::EXTERNAL);
  tensor.add_external_data()->set_key("location");
  tensor.mutable_external_data(0)->set_value("w.bin");
  testing::add_output(model, "w");
  EXPECT_THAT(testing::import_proto(model).status().message(),
              HasSubstr("\"w.bin\" has no folder to be read from"));
}

}  // namespace
}  // namespace sluice::onnx
