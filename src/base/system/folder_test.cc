#include "base/system/folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "support/paths.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;
using sluice::testing::TempDir;

class FolderTest : public ::testing::Test {
 protected:
  void write(const fs::path& relative, const std::string& text) {
    fs::create_directories((root_.path() / relative).parent_path());
    std::ofstream(root_.path() / relative) << text;
  }
  Folder open(const fs::path& relative) { return Folder::open(root_.path() / relative).value(); }

  TempDir root_;
};

std::string text_of(const Result<Bytes>& bytes) {
  if (!bytes.is_ok()) return std::string(bytes.status().message());
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

TEST_F(FolderTest, StaysTheSameWhenItsNameMeansAnother) {
  write("own/f", "own");
  write("other/f", "other");
  const Folder folder = open("own");
  fs::rename(root_.path() / "own", root_.path() / "moved");
  fs::create_directory_symlink("other", root_.path() / "own");
  EXPECT_EQ(text_of(folder.map("f")), "own");
}

TEST_F(FolderTest, PathBeneathItDoesNotLeaveIt) {
  write("folder/inner/f", "in");
  write("out", "out");
  fs::create_symlink("inner/f", root_.path() / "folder/near");
  fs::create_symlink(root_.path() / "out", root_.path() / "folder/far");
  fs::create_directory_symlink("..", root_.path() / "folder/up");
  ASSERT_EQ(::mkfifo((root_.path() / "folder/fifo").c_str(), 0600), 0);
  const Folder folder = open("folder");
  EXPECT_EQ(text_of(folder.map("inner/f")), "in");
  EXPECT_EQ(text_of(folder.map("near")), "in");
  for (const std::string& relative :
       {std::string("far"), std::string("up/out"), std::string("../out"),
        (root_.path() / "out").string(), std::string("inner/../../out"), std::string("fifo")}) {
    EXPECT_EQ(folder.map(relative).status().code(), Code::kInvalidArgument) << relative;
  }
  EXPECT_EQ(folder.map("none").status().code(), Code::kNotFound);
}

TEST_F(FolderTest, LinksLeadToTheTargetAlone) {
  write("blobs/1", "one");
  write("blobs/deep/2", "two");
  write("other/3", "three");
  fs::create_directories(root_.path() / "links");
  fs::create_symlink("../blobs/1", root_.path() / "links/a");
  fs::create_symlink(root_.path() / "blobs/deep/2", root_.path() / "links/b");
  fs::create_symlink("a", root_.path() / "links/chain");
  fs::create_directory_symlink("../blobs", root_.path() / "links/dir");
  fs::create_symlink("../other/3", root_.path() / "links/far");
  fs::create_symlink("../blobs/../other/3", root_.path() / "links/through");
  fs::create_symlink("self", root_.path() / "links/self");
  const Folder links = open("links");
  const Folder blobs = open("blobs");
  EXPECT_EQ(text_of(links.map_link("a", blobs)), "one");
  EXPECT_EQ(text_of(links.map_link("b", blobs)), "two");
  EXPECT_EQ(text_of(links.map_link("chain", blobs)), "one");
  EXPECT_EQ(text_of(links.map_link("dir/1", blobs)), "one");
  for (const char* refused : {"far", "through"}) {
    EXPECT_EQ(links.map_link(refused, blobs).status().code(), Code::kInvalidArgument) << refused;
  }
  EXPECT_FALSE(links.map_link("self", blobs).is_ok());
  EXPECT_EQ(links.map_link("none", blobs).status().code(), Code::kNotFound);
}

TEST_F(FolderTest, KnowsTheSameFileByItsOtherName) {
  write("blobs/1", "one");
  write("blobs/2", "one");
  write("links/plain", "one");
  fs::create_symlink("../blobs/1", root_.path() / "links/a");
  const Folder links = open("links");
  const Folder blobs = open("blobs");
  EXPECT_TRUE(links.has_same("a", blobs, "1"));
  EXPECT_FALSE(links.has_same("a", blobs, "2"));
  EXPECT_FALSE(links.has_same("plain", blobs, "1"));
  EXPECT_FALSE(links.has_same("a", links, "a")) << "a link is not the file";
}

using Open = Result<FileDescriptor> (*)(const fs::path&);

/// By openat2 where the kernel has it, and without it.
class RealPath : public ::testing::TestWithParam<Open> {
 protected:
  RealPath() : root_(fs::canonical(folder_.path())) {}

  void write(const fs::path& relative, const std::string& text) {
    fs::create_directories((root_ / relative).parent_path());
    std::ofstream(root_ / relative) << text;
  }
  /// The text of the file, or what the error says.
  std::string text_of(const fs::path& path) {
    const auto file = GetParam()(path);
    if (!file.is_ok()) return file.status().to_string();
    const auto text = read_open_text(file->get(), path, 1000);
    return text.is_ok() ? *text : text.status().to_string();
  }
  Code code_of(const fs::path& path) { return GetParam()(path).status().code(); }

  TempDir folder_;
  fs::path root_;
};

INSTANTIATE_TEST_SUITE_P(Kernels, RealPath, ::testing::Values(&open_real, &open_real_by_steps));

TEST_P(RealPath, OpensWhatHasNoLinkInItsWay) {
  write("a/b/f", "text");
  EXPECT_EQ(text_of(root_ / "a/b/f"), "text");
  EXPECT_EQ(code_of(root_ / "a/b/none"), Code::kNotFound);
  EXPECT_EQ(code_of(root_ / "a/none/f"), Code::kNotFound);
}

TEST_P(RealPath, RefusesALinkAnywhere) {
  write("a/f", "text");
  fs::create_symlink("f", root_ / "a/to_file");
  fs::create_directory_symlink("a", root_ / "to_folder");
  for (const char* path : {"a/to_file", "to_folder/f"}) {
    EXPECT_EQ(code_of(root_ / path), Code::kInvalidArgument) << path;
  }
}

TEST_P(RealPath, RefusesAPathThatIsNotResolved) {
  write("a/f", "text");
  for (const fs::path& path : {fs::path("a/f"), root_ / "a/../a/f", root_ / "./a/f", fs::path()}) {
    EXPECT_EQ(code_of(path), Code::kInvalidArgument) << path;
  }
}

/// Another program swaps the folder for a link to one outside, again and again.
TEST_P(RealPath, NeverOpensAFileOutsideWhileALinkIsSwappedIn) {
  write("inside/v/f", "inside");
  write("outside/f", "outside");
  fs::create_directory_symlink(root_ / "outside", root_ / "link");
  const fs::path place = root_ / "inside/v";
  std::atomic<bool> is_over = false;
  std::atomic<int> num_swaps = 0;
  std::thread swaps([&] {
    while (!is_over) {
      fs::rename(place, root_ / "kept");
      fs::rename(root_ / "link", place);
      ++num_swaps;
      fs::rename(place, root_ / "link");
      fs::rename(root_ / "kept", place);
    }
  });
  int num_opened = 0;
  int num_refused = 0;
  int num_outside = 0;
  // Until both were seen many times: the folder there, and the link.
  for (int i = 0; (num_swaps < 1000 || num_opened < 100 || num_refused < 1) && i < 10'000'000;
       ++i) {
    const std::string text = text_of(place / "f");
    num_outside += text == "outside" ? 1 : 0;
    num_opened += text == "inside" ? 1 : 0;
    num_refused += text.find("a link was put in its way") != std::string::npos ? 1 : 0;
  }
  is_over = true;
  swaps.join();
  EXPECT_EQ(num_outside, 0);
  EXPECT_GT(num_opened, 0);
  EXPECT_GT(num_refused, 0);
}

}  // namespace
}  // namespace sluice
