// A made-up tree of sysfs.
#pragma once

#include <filesystem>
#include <fstream>
#include <string_view>

namespace sluice::topology::testing {

/// Writes files below a root, with the end of line that the kernel's have.
class MadeUpSysfs {
 public:
  explicit MadeUpSysfs(std::filesystem::path root) : root_(std::move(root)) {}

  const std::filesystem::path& root() const { return root_; }
  void set(std::string_view file, std::string_view text) const {
    const std::filesystem::path path = root_ / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::trunc) << text << '\n';
  }

 private:
  std::filesystem::path root_;
};

}  // namespace sluice::topology::testing
