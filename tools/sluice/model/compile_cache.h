// Packages that `sluice run` and its like compiled of ONNX files, for the next call.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "package/executable.h"
#include "sluice/cache_folder.hpp"

namespace sluice::tool {

/// Packages by key in the folder of what was compiled before. A folder that cannot be written holds
/// none.
class CompileCache {
 public:
  /// Nullopt as CacheFolder::open. Prints its warning.
  static std::optional<CompileCache> open();

  std::filesystem::path place_of(const std::string& key) const {
    return folder_.place_of(key + ".sluice");
  }

  /// The package of a key, with all checksums compared; it becomes the most recently used one.
  /// Nullopt if there is none. A damaged one is removed.
  std::optional<package::Executable> find(const std::string& key) const;

  /// As CacheFolder::trim.
  void trim() const { folder_.trim(); }

 private:
  explicit CompileCache(CacheFolder folder) : folder_(std::move(folder)) {}

  CacheFolder folder_;
};

}  // namespace sluice::tool
