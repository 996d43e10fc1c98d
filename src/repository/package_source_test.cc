#include "repository/package_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "ir/text/graph_text.h"
#include "package/package.h"
#include "support/paths.h"

namespace sluice::repository {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class PackageSourceTest : public ::testing::Test {
 protected:
  std::string why() {
    const auto opened = source_.open(path_, stop_.get_token());
    return opened.is_ok() ? "" : opened.status().message();
  }

  sluice::testing::TempDir folder_;
  const fs::path path_ = fs::canonical(folder_.path()) / "model.sluice";
  std::stop_source stop_;
  PackageSource source_ = PackageSource("sluice", {}, {});
};

TEST_F(PackageSourceTest, FileBeyondMemoryIsNotCopied) {
  std::ofstream(path_) << "a hole follows";
  fs::resize_file(path_, std::uintmax_t{1} << 43);
  EXPECT_THAT(why(), HasSubstr("bytes of memory are usable"));
}

TEST_F(PackageSourceTest, OtherFilesAreToldByTheirStart) {
  std::ofstream(path_) << std::string(4096, '\0');
  EXPECT_THAT(why(), HasSubstr("not a .sluice file"));
  fs::resize_file(path_, 3);
  EXPECT_THAT(why(), HasSubstr("is truncated"));
  fs::remove(path_);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(why(), HasSubstr("is not a regular file"));
  fs::remove(path_);
  EXPECT_THAT(why(), HasSubstr("cannot open"));
}

TEST_F(PackageSourceTest, LinkThatCameAfterTheLookIsRefused) {
  fs::create_symlink("/etc/passwd", path_);
  EXPECT_THAT(why(), HasSubstr("a link was put in its way"));
  const fs::path folder = path_.parent_path() / "1";
  fs::create_directory_symlink("/etc", folder);
  EXPECT_THAT(source_.open(folder / "passwd", {}).status().message(),
              HasSubstr("a link was put in its way"));
}

TEST_F(PackageSourceTest, CopyEndsWithTheDaemon) {
  package::Executable executable;
  executable.graph = ir::parse_graph(
                         "subgraph @0 \"main\" {\n  input %x : f32[2]\n"
                         "  [%y : f32[2]] = Relu.14[%x]\n  output [%y]\n}\n")
                         .value();
  executable.backends = {"cpu"};
  executable.backend_of = {{0}};
  ASSERT_TRUE(package::write_package(executable, path_).is_ok());
  EXPECT_EQ(why(), "");
  stop_.request_stop();
  EXPECT_THAT(why(), HasSubstr("the daemon ends"));
}

}  // namespace
}  // namespace sluice::repository
