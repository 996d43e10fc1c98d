#include "support/paths.h"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

namespace sluice::testing {

std::filesystem::path source_path(std::string_view relative) {
  return std::filesystem::path(SLUICE_SOURCE_DIR) / relative;
}

std::filesystem::path build_path(std::string_view relative) {
  // Programs of tests lie in a folder of it, also where the build was copied to.
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / relative;
}

TempDir::TempDir() {
  std::string pattern = (std::filesystem::temp_directory_path() / "sluice-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    throw std::filesystem::filesystem_error("mkdtemp", pattern,
                                            std::error_code(errno, std::generic_category()));
  }
  path_ = pattern;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace sluice::testing
