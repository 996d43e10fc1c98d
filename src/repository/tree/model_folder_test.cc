#include "repository/tree/model_folder.h"

#include <gmock/gmock.h>

#include <fstream>

#include "support/paths.h"

namespace sluice::repository {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ModelFolderTest : public ::testing::Test {
 protected:
  void write(const fs::path& name, const std::string& text = "x") const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  std::vector<std::int64_t> versions(const std::string& name) const {
    std::vector<std::int64_t> numbers;
    const auto model = read_model_folder(root_, name, lists_);
    EXPECT_TRUE(model.is_ok()) << model.status().to_string();
    if (!model.is_ok()) return numbers;
    for (const VersionFile& version : model->versions) numbers.push_back(version.number);
    return numbers;
  }
  std::string error_of(const std::string& name) const {
    return read_model_folder(root_, name, lists_).status().message();
  }
  std::string version_error(const std::string& name) const {
    return read_model_folder(root_, name, lists_)->versions.at(0).file.status().message();
  }

  sluice::testing::TempDir folder_;
  const fs::path root_ = fs::canonical(folder_.path()) / "repository";
  mutable ListFile lists_;
  void SetUp() override { fs::create_directories(root_); }
};

TEST_F(ModelFolderTest, ListsFilesAndFolders) {
  write("b.onnx");
  write("a.sluice");
  write("b.onnx.data");
  write("tree/1/model.onnx");
  write(".hidden/1/model.onnx");
  EXPECT_THAT(*list_models(root_, lists_), ElementsAre("a", "b", "tree"));
  EXPECT_EQ(list_models(root_ / "none", lists_).status().code(), Code::kNotFound);
}

TEST_F(ModelFolderTest, FileIsVersionOne) {
  write("a.onnx");
  EXPECT_THAT(versions("a"), ElementsAre(1));
  EXPECT_EQ(*read_model_folder(root_, "a", lists_)->versions.at(0).file, root_ / "a.onnx");
}

TEST_F(ModelFolderTest, FolderOfALanguageModelIsVersionOne) {
  write("plain/config.json");
  write("plain/model.safetensors");
  write("tree/3/config.json");
  write("tree/3/model.safetensors");
  const auto plain = read_model_folder(root_, "plain", lists_);
  ASSERT_TRUE(plain.is_ok()) << plain.status().to_string();
  EXPECT_EQ(plain->versions.at(0).file.value(), root_ / "plain");
  EXPECT_THAT(versions("plain"), ElementsAre(1));
  EXPECT_THAT(versions("tree"), ElementsAre(3));
  EXPECT_EQ(read_model_folder(root_, "tree", lists_)->versions.at(0).file.value(),
            root_ / "tree/3");

  write("plain/tokenizer.json");
  EXPECT_NE(read_model_folder(root_, "plain", lists_)->versions.at(0).fingerprint,
            plain->versions.at(0).fingerprint);
  write("../weights.safetensors");
  fs::create_symlink("../../weights.safetensors", root_ / "plain/more.safetensors");
  EXPECT_THAT(error_of("plain"), HasSubstr("leads out"));
}

TEST_F(ModelFolderTest, ConfigurationBesideAnExportedModelChangesNothing) {
  write("export/1/model.onnx");
  write("export/1/config.json");
  write("tree/1/model.onnx");
  write("tree/config.json");
  EXPECT_EQ(read_model_folder(root_, "export", lists_)->versions.at(0).file.value(),
            root_ / "export/1/model.onnx");
  EXPECT_EQ(read_model_folder(root_, "tree", lists_)->versions.at(0).file.value(),
            root_ / "tree/1/model.onnx");
}

TEST_F(ModelFolderTest, WeightsBesideABareModelBelongToIt) {
  write("net.onnx");
  const auto print = [&] {
    return read_model_folder(root_, "net", lists_)->versions.at(0).fingerprint;
  };
  const std::string first = print();
  write("notes.txt");
  write("other.onnx.data");
  EXPECT_EQ(print(), first);
  write("net.onnx.data");
  EXPECT_NE(print(), first);
}

TEST_F(ModelFolderTest, WeightsBesideAListedFileBelongToIt) {
  write("net.onnx");
  write("list.json", R"({"model_config_list": [
    {"config": {"name": "n", "base_path": "net.onnx"}}]})");
  const auto print = [&] {
    return read_model_folder(root_ / "list.json", "n", lists_)->versions.at(0).fingerprint;
  };
  const std::string first = print();
  write("other.onnx.data");
  EXPECT_EQ(print(), first);
  write("net.onnx.data");
  EXPECT_NE(print(), first);
}

TEST_F(ModelFolderTest, PolicyChoosesVersions) {
  for (const char* name : {"1", "2", "10", "03", "x", "-4"}) {
    write(fs::path("m") / name / "model.onnx");
  }
  write("m/7", "a file");
  EXPECT_THAT(versions("m"), ElementsAre(10));
  write("m/config.pbtxt", "version_policy { all { } }");
  EXPECT_THAT(versions("m"), ElementsAre(1, 2, 10));
  write("m/config.pbtxt", "version_policy { latest { num_versions: 2 } }");
  EXPECT_THAT(versions("m"), ElementsAre(2, 10));
  write("m/config.pbtxt", "version_policy { specific { versions: [ 2, 1, 2 ] } }");
  EXPECT_THAT(versions("m"), ElementsAre(1, 2));
}

TEST_F(ModelFolderTest, FindsTheModelsFile) {
  const auto file = [&] {
    return read_model_folder(root_, "m", lists_)->versions.at(0).file->filename();
  };
  write("m/1/weights.bin");
  EXPECT_THAT(version_error("m"), HasSubstr("no model.onnx"));
  write("m/1/net.onnx");
  EXPECT_EQ(file(), "net.onnx");
  write("m/1/other.onnx");
  EXPECT_THAT(version_error("m"), HasSubstr("several files"));
  write("m/1/model.sluice");
  EXPECT_EQ(file(), "model.sluice");
  write("m/config.pbtxt", "default_model_filename: \"other.onnx\"");
  EXPECT_EQ(file(), "other.onnx");
  write("m/config.pbtxt", "default_model_filename: \"gone.onnx\"");
  EXPECT_THAT(version_error("m"), HasSubstr("gone.onnx"));
}

TEST_F(ModelFolderTest, RefusesLinksThatLeadOut) {
  std::ofstream(root_.parent_path() / "outside.onnx") << "x";
  fs::create_directories(root_.parent_path() / "out/1");
  std::ofstream(root_.parent_path() / "out/1/model.onnx") << "x";
  fs::create_symlink("../outside.onnx", root_ / "file.onnx");
  fs::create_directory_symlink("../out", root_ / "folder");
  fs::create_directories(root_ / "version");
  fs::create_directory_symlink("../../out/1", root_ / "version/1");
  fs::create_directories(root_ / "inner/1");
  fs::create_symlink("../../../outside.onnx", root_ / "inner/1/model.onnx");
  write("config/1/model.onnx");
  fs::create_symlink("/etc/passwd", root_ / "config/config.pbtxt");
  EXPECT_THAT(error_of("file"), HasSubstr("leads out of the repository"));
  EXPECT_THAT(error_of("folder"), HasSubstr("leads out of the repository"));
  EXPECT_THAT(error_of("config"), HasSubstr("leads out of the repository"));
  EXPECT_THAT(version_error("version"), HasSubstr("leads out of the repository"));
  EXPECT_THAT(version_error("inner"), HasSubstr("leads out of the repository"));
}

TEST_F(ModelFolderTest, FollowsLinksInside) {
  write("shared/net.onnx");
  fs::create_directories(root_ / "m/1");
  fs::create_symlink("../../shared/net.onnx", root_ / "m/1/model.onnx");
  EXPECT_EQ(*read_model_folder(root_, "m", lists_)->versions.at(0).file, root_ / "shared/net.onnx");
}

TEST_F(ModelFolderTest, ErrorsSayWhatIsWrong) {
  write("twice.onnx");
  write("twice.sluice");
  write("none/config.pbtxt", "");
  write("other/1/model.onnx");
  write("other/config.pbtxt", "name: \"another\"");
  write("damaged/1/model.onnx");
  write("damaged/config.pbtxt", "input [");
  EXPECT_THAT(error_of("twice"), HasSubstr("twice.onnx and twice.sluice have the same name"));
  EXPECT_THAT(error_of("none"), HasSubstr("no version"));
  EXPECT_THAT(error_of("other"), HasSubstr("the name is \"another\""));
  EXPECT_THAT(error_of("damaged"), HasSubstr("config.pbtxt: line 1"));
  EXPECT_THAT(error_of("gone"), HasSubstr("no longer"));
}

TEST_F(ModelFolderTest, FingerprintChangesWithFilesAndConfiguration) {
  write("m/1/model.onnx");
  const auto print = [&] {
    return read_model_folder(root_, "m", lists_)->versions.at(0).fingerprint;
  };
  const std::string first = print();
  EXPECT_EQ(print(), first);
  write("m/1/weights.bin");
  const std::string second = print();
  EXPECT_NE(second, first);
  write("m/config.pbtxt", "max_batch_size: 1");
  EXPECT_NE(print(), second);
}

TEST_F(ModelFolderTest, LabelsChangeTheFingerprintAndAreNotReadByALook) {
  write("m/1/model.onnx");
  write("m/config.pbtxt", "output { name: \"y\" label_filename: \"labels.txt\" }");
  const auto print = [&] {
    return read_model_folder(root_, "m", lists_)->versions.at(0).fingerprint;
  };
  const std::string first = print();
  write("m/labels.txt", "\xff is no label");
  EXPECT_NE(print(), first);
  const auto model = read_model_folder(root_, "m", lists_);
  EXPECT_EQ(model->folder, root_ / "m");
  EXPECT_EQ(model->config.outputs.at(0).labels, nullptr);
}

TEST_F(ModelFolderTest, VersionsKeepNoCopyOfTheConfiguration) {
  write("m/1/model.onnx");
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "metric_tags { key: \"k\" value: \"v\" }\n";
  write("m/config.pbtxt", text);
  EXPECT_LT(read_model_folder(root_, "m", lists_)->versions.at(0).fingerprint.size(), 200U);
}

TEST_F(ModelFolderTest, RefusesMoreVersionsThanAreServed) {
  write("m/1/model.onnx");
  std::string numbers = "1";
  for (int i = 2; i <= 1025; ++i) numbers += "," + std::to_string(i);
  write("m/config.pbtxt", "version_policy { specific { versions: [" + numbers + "] } }");
  EXPECT_THAT(error_of("m"), HasSubstr("1025 versions; at most 1024"));
}

TEST_F(ModelFolderTest, FindsEachModelOfAList) {
  write("a/1/model.onnx");
  write("b/model.onnx");
  const fs::path file = root_ / "config.json";
  std::ofstream(file) << R"({"model_config_list": [
    {"config": {"name": "b", "base_path": "b"}}, {"config": {"name": "a", "base_path": "a"}}]})";
  EXPECT_THAT(*list_models(file, lists_), ElementsAre("a", "b"));
  EXPECT_EQ(read_model_folder(file, "a", lists_)->versions.at(0).file.value(),
            root_ / "a/1/model.onnx");
  EXPECT_EQ(read_model_folder(file, "b", lists_)->versions.at(0).file.value(),
            root_ / "b/model.onnx");
  for (const char* name : {"", "aa", "c"}) {
    EXPECT_THAT(read_model_folder(file, name, lists_).status().message(), HasSubstr("no longer"));
  }
}

}  // namespace
}  // namespace sluice::repository
