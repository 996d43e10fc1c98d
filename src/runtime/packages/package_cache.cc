#include "runtime/packages/package_cache.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/no_memory.h"
#include "base/process/with_lock.h"
#include "base/system/folder.h"
#include "package/package.h"
#include "terms/runtime_code.h"

namespace sluice::runtime {
namespace {

/// Equal for two paths of one unchanged file.
Result<std::string> identity_of(const std::filesystem::path& path, bool is_real) {
  std::error_code error;
  if (is_real) {  // of the very file: a link in its place would name one that others have loaded
    const auto file = open_real(path);
    if (file.is_ok()) return file_version(file->get());
    return terms::runtime_error(RuntimeCode::kInvalid, "{}", file.status().message());
  }
  const bool is_file = std::filesystem::is_regular_file(path, error);
  if (is_file) return file_version(path);
  return terms::runtime_error(RuntimeCode::kInvalid, "{}: {}", path.string(),
                              error ? error.message() : "not a file");
}

}  // namespace

Result<std::shared_ptr<const package::Executable>> CachedPackage::executable() {
  const std::lock_guard lock(mutex_);
  if (executable_ == nullptr) {
    auto executable = catch_no_memory([&]() -> Result<package::Executable> {
      if (!is_real_) return package::read_package(path_);
      return package::parse_package(SLUICE_TRY(map_real(path_))).with_context(path_.string());
    });
    if (!executable.is_ok()) {
      const bool is_version = executable.status().code() == Code::kUnimplemented;
      return terms::with_runtime_code(executable.status(), is_version
                                                               ? RuntimeCode::kUnsupportedVersion
                                                               : RuntimeCode::kInvalid);
    }
    executable_ = std::make_shared<const package::Executable>(std::move(*executable));
  }
  return executable_;
}

CachedPackage::~CachedPackage() {
  if (const auto ready = ready_.lock()) ready_models_->drop(ready);
}

void CachedPackage::keep_ready() {
  const std::lock_guard lock(place_mutex_);
  keeps_ready_ = true;
}

void CachedPackage::forget_ready() {
  const auto ready = with_lock(place_mutex_, [&] { return std::exchange(ready_, {}).lock(); });
  if (ready != nullptr) ready_models_->drop(ready);
}

Result<CachedPackage::Placed> CachedPackage::place(const backend::BackendRegistry& backends,
                                                   const exec::LoadOptions& options,
                                                   const std::stop_token& stop) {
  const auto executable_now = SLUICE_TRY(executable());
  std::shared_ptr<const exec::LoadedModel> model;
  std::shared_ptr<const exec::ReadyModel> ready;
  {
    // One load of a package at a time, without the lock during the load: the second one waits, can
    // be cancelled, and then shares the model of the first.
    std::unique_lock lock(place_mutex_);
    if (!place_is_free_.wait(lock, stop, [&] { return !is_placing_; })) {
      return Status(Code::kCancelled, "cancelled while another load of the package went on");
    }
    is_placing_ = true;
    std::erase_if(placed_, [](const auto& weak) { return weak.expired(); });
    for (const auto& weak : placed_) {
      if (model == nullptr) model = weak.lock();
    }
    ready = ready_.lock();
  }
  const bool is_shared = model != nullptr;
  // Nothing may leave here without the place: later loads would wait for ever.
  auto loaded = catch_no_memory([&] {
    return is_shared ? model->place(options, stop)
           : ready   ? ready->place(options, stop)
                     : exec::LoadedModel::load(*executable_now, backends, options, stop);
  });
  const std::lock_guard lock(place_mutex_);
  is_placing_ = false;
  place_is_free_.notify_all();
  auto shared = std::make_shared<const exec::LoadedModel>(SLUICE_TRY(std::move(loaded)));
  placed_.push_back(shared);
  if (keeps_ready_ && ready == nullptr) {
    ready = std::make_shared<const exec::ReadyModel>(shared->ready());
    ready_ = ready;
  }
  if (keeps_ready_ && ready->own_bytes() == 0) ready_models_->keep(ready);
  return Placed{std::move(shared), is_shared};
}

Result<std::shared_ptr<const CachedPackage::Leases>> CachedPackage::reserve(
    topology::MemoryBudget& budget, const terms::Footprint& footprint) {
  const std::lock_guard lock(lease_mutex_);
  // Leases end before their budget does, so that an address means one budget.
  std::erase_if(leases_, [](const auto& entry) { return entry.second.expired(); });
  if (const auto known = leases_.find(&budget); known != leases_.end()) {
    if (auto leases = known->second.lock()) return leases;
  }
  auto made = std::make_shared<Leases>();
  const auto add = [&](const char* category, std::int64_t bytes) -> Status {
    // A category without bytes would still be listed in messages.
    if (bytes == 0) return ok_status();
    made->push_back(SLUICE_TRY(topology::MemoryLease::reserve(budget, category, bytes)));
    return ok_status();
  };
  SLUICE_TRY(add("constants", footprint.constants_bytes));
  SLUICE_TRY(add("packed constants", footprint.packed_bytes));
  const std::shared_ptr<const Leases> leases = std::move(made);
  leases_[&budget] = leases;
  return leases;
}

Result<std::shared_ptr<CachedPackage>> PackageCache::open(const std::filesystem::path& path,
                                                          bool is_real) {
  const std::string key = SLUICE_TRY(identity_of(path, is_real));
  const std::lock_guard lock(mutex_);
  if (auto found = find(key)) return found;
  std::erase_if(packages_, [](const auto& entry) { return entry.second.expired(); });
  auto made = std::make_shared<CachedPackage>(path, is_real, ready_models_);
  packages_[key] = made;
  return made;
}

std::shared_ptr<CachedPackage> PackageCache::open(
    std::shared_ptr<const package::Executable> executable) {
  // The entry keeps the executable alive, so its address cannot be reused.
  const std::string key = fmt::format("{}", static_cast<const void*>(executable.get()));
  const std::lock_guard lock(mutex_);
  if (auto found = find(key)) return found;
  std::erase_if(packages_, [](const auto& entry) { return entry.second.expired(); });
  auto made = std::make_shared<CachedPackage>(std::move(executable), ready_models_);
  packages_[key] = made;
  return made;
}

std::shared_ptr<CachedPackage> PackageCache::find(const std::string& key) const {
  const auto it = packages_.find(key);
  return it == packages_.end() ? nullptr : it->second.lock();
}

}  // namespace sluice::runtime
