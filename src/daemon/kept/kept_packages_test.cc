#include "daemon/kept/kept_packages.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/paths.h"
#include "terms/runtime_code.h"

namespace sluice::daemon {
namespace {

namespace fs = std::filesystem;

class KeptPackagesTest : public ::testing::Test {
 protected:
  int open_source() const {
    const fs::path source = folder_ / "source";
    std::ofstream(source) << "bytes of a package";
    return ::open(source.c_str(), O_RDONLY | O_CLOEXEC);
  }
  fs::path path_of(const std::string& name) const { return kept_ / name; }
  static mode_t mode_of(const fs::path& path) {
    struct stat info = {};
    EXPECT_EQ(::stat(path.c_str(), &info), 0);
    return info.st_mode & 0777;
  }

  testing::TempDir folder_;
  const fs::path kept_ = folder_ / "state.json.packages";
  const FileDescriptor file_{open_source()};
  const std::shared_ptr<const void> package_ = std::make_shared<const int>(0);
};

TEST_F(KeptPackagesTest, EqualPackagesShareAFileThatGoesWithTheLast) {
  KeptPackages packages(kept_);
  const auto first = packages.take(1, package_, file_.get());
  ASSERT_TRUE(first.is_ok()) << first.status().to_string();
  EXPECT_EQ(*first, "1.sluice");
  EXPECT_EQ(packages.take(2, package_, file_.get()).value(), "1.sluice");
  const auto other = std::make_shared<const int>(0);
  EXPECT_EQ(packages.take(3, other, file_.get()).value(), "3.sluice");
  packages.drop("1.sluice");
  ASSERT_TRUE(packages.open("1.sluice").is_ok());
  EXPECT_EQ(packages.open("1.sluice")->bytes.size(), 18U);
  packages.drop("1.sluice");
  EXPECT_FALSE(fs::exists(path_of("1.sluice")));
  EXPECT_TRUE(fs::exists(path_of("3.sluice")));
}

TEST_F(KeptPackagesTest, NobodyElseReadsThem) {
  KeptPackages packages(kept_);
  const auto name = packages.take(1, package_, file_.get());
  ASSERT_TRUE(name.is_ok()) << name.status().to_string();
  EXPECT_EQ(mode_of(kept_), 0700U);
  EXPECT_EQ(mode_of(path_of(*name)), 0600U);
}

TEST_F(KeptPackagesTest, FileOfNoDeploymentIsRemovedAtTheStart) {
  ASSERT_TRUE(KeptPackages(kept_).take(1, package_, file_.get()).is_ok());
  ASSERT_TRUE(KeptPackages(kept_).take(2, package_, file_.get()).is_ok());
  std::ofstream(path_of("notes.txt")) << "an administrator's";
  KeptPackages packages(kept_);
  packages.add("2.sluice", nullptr);
  EXPECT_EQ(packages.last_number(), 2);
  packages.remove_others();
  EXPECT_FALSE(fs::exists(path_of("1.sluice")));
  EXPECT_TRUE(fs::exists(path_of("2.sluice")));
  EXPECT_TRUE(fs::exists(path_of("notes.txt")));
}

TEST_F(KeptPackagesTest, ErrorOfTheDiskIsOutOfResources) {
  std::ofstream(kept_) << "a file where the folder should be";
  const auto name = KeptPackages(kept_).take(1, package_, file_.get());
  ASSERT_FALSE(name.is_ok());
  EXPECT_EQ(terms::runtime_code_of(name.status()), RuntimeCode::kOutOfResources);
}

}  // namespace
}  // namespace sluice::daemon
