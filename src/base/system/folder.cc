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

bool is_resolved(const fs::path& path) {
  return path.is_absolute() && std::ranges::none_of(path, [](const fs::path& part) {
           return part == "." || part == "..";
         });
}

Status not_resolved(const fs::path& path) {
  return invalid_argument("\"{}\" is no absolute path without \".\" and \"..\"", path.string());
}

Status not_opened(int error, const fs::path& path) {
  if (error != ELOOP) return errno_error(error, "open", path);
  return invalid_argument("\"{}\": a link was put in its way", path.string());
}

Result<FileDescriptor> open_step(int folder, const fs::path& name, int flags) {
  const int fd = ::openat(folder, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC);
  if (fd >= 0) return FileDescriptor(fd);
  // With O_DIRECTORY the kernel says of a link that it is no folder.
  return not_opened(errno == ENOTDIR ? ELOOP : errno, name);
}

/// For kernels before 5.6, and sandboxes that do not know openat2.
Result<FileDescriptor> open_compared(const fs::path& folder, const fs::path& relative) {
  std::error_code error;
  const auto real_folder = fs::canonical(folder, error);
  if (error) return errno_error(error.value(), "open", folder);
  const auto real = fs::canonical(real_folder / relative, error);
  if (error) return errno_error(error.value(), "open", folder / relative);
  if (!path_beneath(real_folder, real)) return leads_out(relative);
  return open_real(real);
}

Result<FileDescriptor> open_beneath(int root, const fs::path& folder, const fs::path& relative) {
  open_how how = {};
  how.flags = static_cast<std::uint64_t>(kReadFlags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  const long fd = ::syscall(SYS_openat2, root, relative.c_str(), &how, sizeof(how));
  if (fd >= 0) return FileDescriptor(static_cast<int>(fd));
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
  const FileDescriptor file = SLUICE_TRY(open_beneath(descriptor_->get(), path_, relative));
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

Result<FileDescriptor> open_real(const fs::path& path) {
  if (!is_resolved(path)) return not_resolved(path);
  open_how how = {};
  how.flags = static_cast<std::uint64_t>(kReadFlags);
  how.resolve = RESOLVE_NO_SYMLINKS;
  const long fd = ::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof(how));
  if (fd >= 0) return FileDescriptor(static_cast<int>(fd));
  // Kernels before 5.6, and sandboxes that do not know openat2.
  if (errno == ENOSYS || errno == EPERM) return open_real_by_steps(path);
  return not_opened(errno, path);
}

Result<Bytes> map_real(const fs::path& path) {
  const FileDescriptor file = SLUICE_TRY(open_real(path));
  return map_open(file.get(), path);
}

Result<std::string> read_real_text(const fs::path& path, std::int64_t limit_bytes) {
  const FileDescriptor file = SLUICE_TRY(open_real(path));
  return read_open_text(file.get(), path, limit_bytes);
}

Result<FileDescriptor> open_real_by_steps(const fs::path& path) {
  if (!is_resolved(path)) return not_resolved(path);
  std::optional<FileDescriptor> folder;
  folder.emplace(SLUICE_TRY(open_step(AT_FDCWD, "/", O_PATH | O_DIRECTORY)));
  for (const fs::path& part : path.relative_path().parent_path()) {
    auto next = open_step(folder->get(), part, O_PATH | O_DIRECTORY);
    if (!next.is_ok()) return next.status().with_context(path.string());
    folder.emplace(std::move(*next));
  }
  auto file = open_step(folder->get(), path.filename(), kReadFlags);
  if (!file.is_ok()) return file.status().with_context(path.string());
  return file;
}

}  // namespace sluice
