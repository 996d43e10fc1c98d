#pragma once

#include <filesystem>
#include <string_view>

namespace sluice::testing {

/// A path inside the source tree: `source_path("tests/golden/relu.ir")`.
std::filesystem::path source_path(std::string_view relative);

/// A path inside the build folder of this test: `build_path("bin/sluice")`.
std::filesystem::path build_path(std::string_view relative);

/// A fresh empty folder, removed with all that is in it at the end of the scope.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path operator/(std::string_view name) const {
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace sluice::testing
