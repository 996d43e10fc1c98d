#include "base/system/folder.h"

#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/file.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

Status leads_out(const fs::path& path) {
  return invalid_argument("\"{}\" is a link out of its folder", path.string());
}

/// What `path` is called inside of `folder`; nullopt if it lies elsewhere. Both without links.
std::optional<fs::path> path_beneath(const fs::path& folder, const fs::path& path) {
  const auto [at, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  if (at != folder.end()) return std::nullopt;
  fs::path relative;
  for (auto part = rest; part != path.end(); ++part) relative /= *part;
  return relative;
}

/// For kernels before 5.6, and sandboxes that do not know openat2.
Result<int> open_compared(const fs::path& folder, const fs::path& relative) {
  std::error_code error;
  const auto real_folder = fs::canonical(folder, error);
  if (error) return errno_error(error.value(), "open", folder);
  const auto real = fs::canonical(real_folder / relative, error);
  if (error) return errno_error(error.value(), "open", folder / relative);
  if (!path_beneath(real_folder, real)) return leads_out(relative);
  const int fd = ::open(real.c_str(), kReadFlags | O_NOFOLLOW);
  if (fd < 0) return errno_error(errno, "open", real);
  return fd;
}

Result<int> open_beneath(int root, const fs::path& folder, const fs::path& relative) {
  open_how how = {};
  how.flags = static_cast<std::uint64_t>(kReadFlags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  const long fd = ::syscall(SYS_openat2, root, relative.c_str(), &how, sizeof(how));
  if (fd >= 0) return static_cast<int>(fd);
  if (errno == EXDEV) return leads_out(relative);
  if (errno == ENOSYS || errno == EPERM) return open_compared(folder, relative);
  return errno_error(errno, "open", folder / relative);
}

}  // namespace

Result<Folder> Folder::open(const fs::path& path) {
  auto descriptor = std::make_shared<const FileDescriptor>(
      ::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (descriptor->get() < 0) return errno_error(errno, "open", path);
  return Folder(path, std::move(descriptor));
}

Result<Bytes> Folder::map(const fs::path& relative) const {
  const FileDescriptor file(SLUICE_TRY(open_beneath(descriptor_->get(), path_, relative)));
  return map_open(file.get(), path_ / relative);
}

// The names are only a guess at where the links lead: `target.map` opens the file, and it opens
// nothing outside, whatever changes between the two.
Result<Bytes> Folder::map_link(const fs::path& relative, const Folder& target) const {
  std::error_code error;
  const fs::path real_folder = fs::canonical(target.path_, error);
  if (error) return errno_error(error.value(), "open", target.path_);
  const fs::path real = fs::canonical(path_ / relative, error);
  if (error) return errno_error(error.value(), "open", path_ / relative);
  const auto beneath = path_beneath(real_folder, real);
  if (!beneath) return leads_out(relative);
  return target.map(*beneath);
}

bool Folder::has_same(const fs::path& name, const Folder& other, const fs::path& real) const {
  struct stat here = {};
  struct stat there = {};
  return ::fstatat(descriptor_->get(), name.c_str(), &here, 0) == 0 &&
         ::fstatat(other.descriptor_->get(), real.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
         here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

}  // namespace sluice
