// Packages that `sluice run` and its like compiled of ONNX files, for the next call.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "package/executable.h"

namespace sluice::tool {

/// A folder of packages by key, shared with the Python package and with other processes. Entries
/// appear whole, by a rename. A folder that cannot be written holds no entries.
class CompileCache {
 public:
  /// In $SLUICE_CACHE_DIR, else $XDG_CACHE_HOME/sluice, else ~/.cache/sluice. Nullopt if the
  /// variable is set and empty, or if no folder is known or can be made. The limit is
  /// $SLUICE_CACHE_MIB, else 4096 MiB.
  static std::optional<CompileCache> open();

  std::filesystem::path place_of(const std::string& key) const {
    return folder_ / (key + ".sluice");
  }

  /// The package of a key, with all checksums compared; it becomes the most recently used one.
  /// Nullopt if there is none. A damaged one is removed.
  std::optional<package::Executable> find(const std::string& key) const;

  /// Removes the least recently used packages, until the rest takes at most the limit.
  void trim() const;

 private:
  CompileCache(std::filesystem::path folder, std::uint64_t limit_bytes)
      : folder_(std::move(folder)), limit_bytes_(limit_bytes) {}

  std::filesystem::path folder_;
  std::uint64_t limit_bytes_ = 0;
};

}  // namespace sluice::tool
