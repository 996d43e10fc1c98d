#include "daemon/kept/kept_packages.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "daemon/kept/kept_file.h"
#include "terms/runtime_code.h"

namespace sluice::daemon {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kFolderMode = 0700;
constexpr mode_t kFileMode = 0600;

/// Equal uploads are one object while one of them is loaded (service::UploadedPackages).
bool is_same(const std::weak_ptr<const void>& a, const std::shared_ptr<const void>& b) {
  return b != nullptr && a.lock() == b;
}

}  // namespace

Result<std::string> KeptPackages::take(std::int64_t number,
                                       const std::shared_ptr<const void>& package, int package_fd) {
  std::string name = package_name(number);
  {
    const std::lock_guard lock(mutex_);
    for (auto& [known, use] : uses_) {
      if (!is_same(use.package, package)) continue;
      ++use.num_deployments;
      return known;
    }
  }
  // Without the lock, which others wait for: a package may have gigabytes. Each of equal ones at
  // the same time gets a file.
  const Status written = write(name, package_fd);
  if (!written.is_ok()) return terms::with_runtime_code(written, RuntimeCode::kOutOfResources);
  add(name, package);
  return name;
}

Status KeptPackages::write(const std::string& name, int package_fd) const {
  if (::mkdir(folder_.c_str(), kFolderMode) != 0 && errno != EEXIST) {
    return errno_error(errno, "make the folder", folder_);
  }
  const Bytes bytes = SLUICE_TRY(map_open(package_fd, "the uploaded package"));
  return write_file_atomically(folder_ / name, bytes.view(), kFileMode);
}

void KeptPackages::add(const std::string& name, const std::shared_ptr<const void>& package) {
  const std::lock_guard lock(mutex_);
  Use& use = uses_[name];
  ++use.num_deployments;
  if (package != nullptr) use.package = package;
}

void KeptPackages::drop(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto use = uses_.find(name);
  if (use == uses_.end() || --use->second.num_deployments > 0) return;
  uses_.erase(use);
  std::error_code ignored;  // the next start removes it
  fs::remove(folder_ / name, ignored);
}

Result<KeptPackages::Package> KeptPackages::open(const std::string& name) const {
  const fs::path path = folder_ / name;
  FileDescriptor file(::open(path.c_str(), kReadFlags | O_NOFOLLOW));
  if (file.get() < 0) return errno_error(errno, "open", path);
  Bytes bytes = SLUICE_TRY(map_open(file.get(), path));
  return Package{std::move(bytes), std::move(file)};
}

void KeptPackages::remove_others() const {
  std::error_code ignored;  // the next start removes it
  for (const std::string& name : files()) {
    if (!uses_.contains(name)) fs::remove(folder_ / name, ignored);
  }
}

std::int64_t KeptPackages::last_number() const {
  std::int64_t last = 0;
  for (const std::string& name : files()) last = std::max(last, package_number(name).value_or(0));
  return last;
}

/// Names of the packages in the folder; none without a folder.
std::vector<std::string> KeptPackages::files() const {
  std::vector<std::string> names;
  std::error_code error;
  for (auto at = fs::directory_iterator(folder_, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    std::string name = at->path().filename().string();
    if (package_number(name)) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace sluice::daemon
