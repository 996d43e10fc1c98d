// Models and external data that are links, as model hubs cache them.
#include "onnx/tensors/model_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "onnx/import.h"
#include "onnx/testing/onnx_testing.h"
#include "support/paths.h"

namespace sluice::onnx {
namespace {

namespace fs = std::filesystem;
using sluice::testing::TempDir;
using ::testing::HasSubstr;

/// blobs/model and blobs/data, and a weight of four f32 in "w.bin"; y = w.
class ModelFileTest : public ::testing::Test {
 protected:
  ModelFileTest() {
    write_data("blobs/data", 1);
    write_model("blobs/model", "w.bin");
  }

  void write_data(const fs::path& relative, float first) {
    fs::create_directories((root_.path() / relative).parent_path());
    const float values[] = {first, 2, 3, 4};
    std::ofstream(root_.path() / relative, std::ios::binary)
        .write(reinterpret_cast<const char*>(values), sizeof(values));
  }

  void write_model(const fs::path& relative, const std::string& location) {
    pb::ModelProto model = testing::new_model();
    pb::TensorProto& tensor = testing::add_weight(model, "w", {4}, {});
    tensor.clear_raw_data();
    tensor.set_data_location(pb::TensorProto::EXTERNAL);
    tensor.add_external_data()->set_key("location");
    tensor.mutable_external_data(0)->set_value(location);
    testing::add_output(model, "w");
    fs::create_directories((root_.path() / relative).parent_path());
    std::ofstream(root_.path() / relative, std::ios::binary) << model.SerializeAsString();
  }

  void link(const fs::path& to, const fs::path& relative) {
    fs::create_directories((root_.path() / relative).parent_path());
    fs::create_symlink(to, root_.path() / relative);
  }

  /// The weight's first number, or why there is none.
  std::string import(const fs::path& relative) {
    const auto graph = import_model(root_.path() / relative);
    if (!graph.is_ok()) return std::string(graph.status().message());
    const ir::Subgraph& main = graph->main();
    return fmt::format("{}", ir::float_values(*main.find_constant(main.outputs[0])).value()[0]);
  }

  TempDir root_;
};

TEST_F(ModelFileTest, HubsCacheIsReadWithItsData) {
  link("../../blobs/model", "snapshots/abc/m.onnx");
  link("../../blobs/data", "snapshots/abc/w.bin");
  EXPECT_EQ(import("snapshots/abc/m.onnx"), "1");
  link("abc", "snapshots/main");
  EXPECT_EQ(import("snapshots/main/m.onnx"), "1") << "through a link to the folder";
  link(root_.path() / "snapshots/abc/m.onnx", "elsewhere/m.onnx");
  link(root_.path() / "blobs/data", "elsewhere/w.bin");
  EXPECT_EQ(import("elsewhere/m.onnx"), "1") << "a chain of links, absolute ones too";
}

TEST_F(ModelFileTest, MayHaveDataInAFolder) {
  write_model("blobs/nested", "data/w.bin");
  write_data("blobs/deep/w", 7);
  link("../../blobs/nested", "snapshots/abc/m.onnx");
  link("../../../blobs/deep/w", "snapshots/abc/data/w.bin");
  EXPECT_EQ(import("snapshots/abc/m.onnx"), "7");
  fs::remove_all(root_.path() / "snapshots/abc/data");
  link("../../blobs/deep", "snapshots/abc/data");
  EXPECT_THAT(import("snapshots/abc/m.onnx"), HasSubstr("is a link out of its folder"));
  fs::create_symlink("w", root_.path() / "blobs/deep/w.bin");
  EXPECT_EQ(import("snapshots/abc/m.onnx"), "7") << "a link to a folder, and a link in it";
}

TEST_F(ModelFileTest, HasItsDataBesideTheRealFileOrBesideTheLink) {
  link("blobs/model", "current.onnx");
  EXPECT_THAT(import("current.onnx"), HasSubstr("cannot be opened in"));
  write_data("blobs/w.bin", 5);
  EXPECT_EQ(import("current.onnx"), "5");
  write_data("w.bin", 6);
  EXPECT_EQ(import("current.onnx"), "6") << "the folder of the path comes first";
}

TEST_F(ModelFileTest, HasNoDataElsewhere) {
  write_data("secret/data", 9);
  link("../../blobs/model", "snapshots/abc/m.onnx");
  link("../../secret/data", "snapshots/abc/w.bin");
  EXPECT_THAT(import("snapshots/abc/m.onnx"), HasSubstr("is a link out of its folder"));
  link("../secret/data", "blobs/w.bin");
  fs::remove(root_.path() / "snapshots/abc/w.bin");
  link("../../blobs/w.bin", "snapshots/abc/w.bin");
  EXPECT_THAT(import("snapshots/abc/m.onnx"), HasSubstr("is a link out of its folder"));
  fs::remove(root_.path() / "snapshots/abc/w.bin");
  EXPECT_THAT(import("snapshots/abc/m.onnx"), HasSubstr("is a link out of its folder"));
}

TEST_F(ModelFileTest, ThatIsNoLinkHasNoDataBehindALink) {
  fs::create_directories(root_.path() / "own");
  fs::copy_file(root_.path() / "blobs/model", root_.path() / "own/m.onnx");
  link("../blobs/data", "own/w.bin");
  EXPECT_THAT(import("own/m.onnx"), HasSubstr("is a link out of its folder"));
}

TEST_F(ModelFileTest, NamesNoPathsThatClimb) {
  for (const char* location : {"../secret/data", "x/../../secret/data", "/etc/hostname"}) {
    write_model("blobs/climbing", location);
    fs::remove_all(root_.path() / "snapshots");
    link("../../blobs/climbing", "snapshots/abc/m.onnx");
    EXPECT_THAT(import("snapshots/abc/m.onnx"), HasSubstr("is not inside the model's folder"));
  }
}

TEST_F(ModelFileTest, IsReadFromOnePlaceThoughALinkChangesMeanwhile) {
  write_data("secret/data", 9);
  link("../../blobs/model", "snapshots/abc/m.onnx");
  link("../../blobs/data", "snapshots/abc/w.bin");
  fs::create_symlink("../../blobs/data", root_.path() / "good");
  fs::create_symlink("../../secret/data", root_.path() / "bad");
  std::atomic<bool> is_done = false;
  std::thread swapping([&] {
    for (bool is_bad = true; !is_done; is_bad = !is_bad) {
      const fs::path next = root_.path() / "snapshots/abc/next";
      fs::copy_symlink(is_bad ? root_.path() / "bad" : root_.path() / "good", next);
      fs::rename(next, root_.path() / "snapshots/abc/w.bin");
    }
  });
  for (int i = 0; i < 500; ++i) EXPECT_NE(import("snapshots/abc/m.onnx"), "9");
  is_done = true;
  swapping.join();
}

TEST_F(ModelFileTest, ReplacedFolderKeepsItsData) {
  write_data("other/w.bin", 9);
  write_model("own/m.onnx", "w.bin");
  write_data("own/w.bin", 3);
  const auto file = open_model_file(root_.path() / "own/m.onnx");
  ASSERT_TRUE(file.is_ok()) << file.status().to_string();
  fs::rename(root_.path() / "own", root_.path() / "moved");
  fs::create_directory_symlink("other", root_.path() / "own");
  ASSERT_EQ(file->folders.size(), 1U);
  const auto data = file->folders[0].map("w.bin");
  ASSERT_TRUE(data.is_ok()) << data.status().to_string();
  EXPECT_EQ(reinterpret_cast<const float*>(data->data())[0], 3);
}

}  // namespace
}  // namespace sluice::onnx
