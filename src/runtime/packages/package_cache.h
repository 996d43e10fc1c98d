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
#include "runtime/packages/ready_models.h"
#include "terms/model.h"
#include "topology/cores/memory_budget.h"

namespace sluice::runtime {

/// A package and its models. Safe across threads.
class CachedPackage {
 public:
  /// Reads nothing yet. `is_real`: by open_real.
  CachedPackage(std::filesystem::path path, bool is_real, std::shared_ptr<ReadyModels> ready_models)
      : path_(std::move(path)), is_real_(is_real), ready_models_(std::move(ready_models)) {}
  CachedPackage(std::shared_ptr<const package::Executable> executable,
                std::shared_ptr<ReadyModels> ready_models)
      : ready_models_(std::move(ready_models)), executable_(std::move(executable)) {}
  CachedPackage(const CachedPackage&) = delete;
  CachedPackage& operator=(const CachedPackage&) = delete;
  ~CachedPackage();

  /// The first call maps the file. Fails: as package::read_package; kUnsupportedVersion.
  Result<std::shared_ptr<const package::Executable>> executable();

  /// From now on, what loads have in common outlives their models, unless that takes constants
  /// beside those of the package. ReadyModels bounds how many packages do so.
  void keep_ready();
  /// The next load prepares the model anew, unless it shares a live one.
  void forget_ready();

  struct Placed {
    std::shared_ptr<const exec::LoadedModel> model;
    bool is_shared = false;  ///< constants and kernels of a live model
  };
  /// A model of the package on these cores. It shares the mapping, constants, packed constants and
  /// kernels of a live model of the package, or of its ready model. Loads of one package are
  /// serialised. Fails: as LoadedModel::load and place; kCancelled soon after `stop` is requested.
  Result<Placed> place(const backend::BackendRegistry& backends, const exec::LoadOptions& options,
                       const std::stop_token& stop);

  using Leases = std::vector<topology::MemoryLease>;
  /// The bytes of constants and packed constants, which all models of the package in one budget
  /// share: reserved by the first, released by the last. `budget` outlives the result.
  /// Fails: as MemoryBudget::reserve.
  Result<std::shared_ptr<const Leases>> reserve(topology::MemoryBudget& budget,
                                                const terms::Footprint& footprint);

 private:
  const std::filesystem::path path_;
  const bool is_real_ = false;
  const std::shared_ptr<ReadyModels> ready_models_;
  std::mutex mutex_;
  std::shared_ptr<const package::Executable> executable_;
  std::mutex place_mutex_;
  std::condition_variable_any place_is_free_;
  bool is_placing_ = false;
  bool keeps_ready_ = false;
  std::weak_ptr<const exec::ReadyModel> ready_;
  std::vector<std::weak_ptr<const exec::LoadedModel>> placed_;
  std::mutex lease_mutex_;
  std::map<const topology::MemoryBudget*, std::weak_ptr<const Leases>> leases_;
};

/// Keeps no package alive: a package without a loaded model is read again. Safe across threads.
class PackageCache {
 public:
  /// One per version of a file: a replaced file is another package.
  /// Fails: kInvalid for a path without a file, and for a link in the way of a real one.
  Result<std::shared_ptr<CachedPackage>> open(const std::filesystem::path& path,
                                              bool is_real = false);
  std::shared_ptr<CachedPackage> open(std::shared_ptr<const package::Executable> executable);

 private:
  std::shared_ptr<CachedPackage> find(const std::string& key) const;

  const std::shared_ptr<ReadyModels> ready_models_ = std::make_shared<ReadyModels>();
  mutable std::mutex mutex_;
  std::map<std::string, std::weak_ptr<CachedPackage>> packages_;
};

}  // namespace sluice::runtime
