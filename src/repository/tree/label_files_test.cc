#include "repository/tree/label_files.h"

#include <gmock/gmock.h>

#include <fstream>
#include <vector>

#include "support/paths.h"

namespace sluice::repository {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LabelFilesTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(root_ / name) << text;
  }
  /// A model with an output for each of the files, in lines from 1.
  static terms::DeclaredModel model(const std::vector<std::string>& files) {
    terms::DeclaredModel model;
    for (const std::string& file : files) {
      terms::DeclaredTensor& output = model.outputs.emplace_back();
      output.name = "y" + std::to_string(model.outputs.size());
      output.label_filename = file;
      output.line = static_cast<int>(model.outputs.size());
    }
    return model;
  }
  std::string error_of(const std::vector<std::string>& files, std::int64_t memory_bytes) const {
    return with_labels(model(files), root_, root_, {memory_bytes}).status().message();
  }

  sluice::testing::TempDir folder_;
  const fs::path root_ = fs::canonical(folder_.path());
};

TEST_F(LabelFilesTest, OutputsShareWhatAFileHas) {
  write("a.txt", "cat\ndog\n");
  write("b.txt", "red\n");
  const auto declared = with_labels(model({"a.txt", "", "b.txt", "a.txt"}), root_, root_);
  ASSERT_TRUE(declared.is_ok()) << declared.status().to_string();
  const auto& outputs = (*declared)->outputs;
  EXPECT_THAT(*outputs.at(0).labels, ElementsAre("cat", "dog"));
  EXPECT_EQ(outputs.at(1).labels, nullptr);
  EXPECT_THAT(*outputs.at(2).labels, ElementsAre("red"));
  EXPECT_EQ(outputs.at(3).labels, outputs.at(0).labels);
}

TEST_F(LabelFilesTest, MemoryOfAllFilesIsBounded) {
  const std::string text(100, '\n');
  write("a.txt", text);
  write("b.txt", text);
  const auto one = static_cast<std::int64_t>(100 * sizeof(std::string) + 100);
  EXPECT_EQ(error_of({"a.txt", "a.txt"}, one), "");
  EXPECT_EQ(error_of({"a.txt", "b.txt"}, 2 * one), "");
  EXPECT_THAT(error_of({"a.txt", "b.txt"}, 2 * one - 1), HasSubstr("too much memory"));
}

TEST_F(LabelFilesTest, ErrorsNameTheLine) {
  write("bad.txt", "cat\n\xff\n");
  fs::create_symlink("/etc/passwd", root_ / "link.txt");
  constexpr std::int64_t kBytes = 1 << 20;
  EXPECT_THAT(error_of({"", "bad.txt"}, kBytes), HasSubstr("line 2: label_filename: line 2"));
  EXPECT_THAT(error_of({"link.txt"}, kBytes), HasSubstr("leads out"));
  EXPECT_THAT(error_of({"none.txt"}, kBytes), HasSubstr("No such file"));
}

TEST_F(LabelFilesTest, FingerprintChangesWithEachFile) {
  const auto print = [&] { return labels_fingerprint(model({"a.txt", "b.txt"}), root_, root_); };
  const std::string none = print();
  write("b.txt", "red\n");
  const std::string first = print();
  EXPECT_NE(first, none);
  EXPECT_EQ(print(), first);
  write("b.txt", "red\ngreen\n");
  EXPECT_NE(print(), first);
  EXPECT_EQ(labels_fingerprint(model({""}), root_, root_), "");
}

}  // namespace
}  // namespace sluice::repository
