#include "support/paths.h"

#include <gtest/gtest.h>

#include <fstream>

namespace sluice::testing {
namespace {

TEST(Paths, SourceTreeAndBuildFolderAreFound) {
  EXPECT_TRUE(std::filesystem::exists(source_path("CMakeLists.txt")));
  EXPECT_TRUE(std::filesystem::exists(build_path("CMakeCache.txt")));
}

TEST(TempDir, IsUniqueAndRemovedWithItsContent) {
  std::filesystem::path kept;
  {
    TempDir one;
    TempDir other;
    EXPECT_NE(one.path(), other.path());
    kept = one.path();
    std::ofstream(one / "file") << "x";
    EXPECT_TRUE(std::filesystem::exists(kept / "file"));
  }
  EXPECT_FALSE(std::filesystem::exists(kept));
}

}  // namespace
}  // namespace sluice::testing
