// Loaded packages, shared by all models of one package.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "exec/loaded_model.h"

namespace sluice::runtime {

/// A package and its models. Safe across threads.
class CachedPackage {
 public:
  /// Reads nothing yet.
  explicit CachedPackage(std::filesystem::path path) : path_(std::move(path)) {}
  explicit CachedPackage(std::shared_ptr<const package::Executable> executable)
      : executable_(std::move(executable)) {}

  /// The first call maps the file. Fails: as package::read_package; kUnsupportedVersion.
  Result<std::shared_ptr<const package::Executable>> executable();

  struct Placed {
    std::shared_ptr<const exec::LoadedModel> model;
    bool is_shared = false;  ///< constants and kernels of another model
  };
  /// A model of the package on these cores. It shares the mapping, constants, packed constants and
  /// kernels of a live model of the package. Loads of one package are serialised. Fails: as
  /// LoadedModel::load and place; kCancelled soon after `stop` is requested.
  Result<Placed> place(const backend::BackendRegistry& backends, const exec::LoadOptions& options,
                       const std::stop_token& stop);

 private:
  const std::filesystem::path path_;
  std::mutex mutex_;
  std::shared_ptr<const package::Executable> executable_;
  std::mutex place_mutex_;
  std::condition_variable_any place_is_free_;
  bool is_placing_ = false;
  std::vector<std::weak_ptr<const exec::LoadedModel>> placed_;
};

/// Keeps no package alive: a package without a loaded model is read again. Safe across threads.
class PackageCache {
 public:
  /// One per version of a file: a replaced file is another package.
  /// Fails: kInvalid for a path without a file.
  Result<std::shared_ptr<CachedPackage>> open(const std::filesystem::path& path);
  std::shared_ptr<CachedPackage> open(std::shared_ptr<const package::Executable> executable);

  /// Number of packages with a loaded model.
  std::size_t size() const;

 private:
  std::shared_ptr<CachedPackage> find(const std::string& key) const;

  mutable std::mutex mutex_;
  std::map<std::string, std::weak_ptr<CachedPackage>> packages_;
};

}  // namespace sluice::runtime
