#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace sluice {
namespace {

Status errno_error(int error, std::string_view what, const std::filesystem::path& path) {
  const Code code = error == ENOENT                      ? Code::kNotFound
                    : error == EACCES || error == EPERM  ? Code::kPermissionDenied
                    : error == ENOSPC || error == EDQUOT ? Code::kResourceExhausted
                                                         : Code::kUnknown;
  return make_error(code, "cannot {} \"{}\": {}", what, path.string(), std::strerror(error));
}

/// Closes on scope exit.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

Status write_all(int fd, std::span<const std::byte> contents, const std::filesystem::path& path) {
  while (!contents.empty()) {
    const ssize_t written = ::write(fd, contents.data(), contents.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno_error(errno, "write", path);
    contents = contents.subspan(static_cast<std::size_t>(written));
  }
  return ok_status();
}

}  // namespace

Result<Bytes> map_file(const std::filesystem::path& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return errno_error(errno, "open", path);
  struct stat info = {};
  if (::fstat(file.get(), &info) != 0) return errno_error(errno, "inspect", path);
  if (!S_ISREG(info.st_mode)) {
    return invalid_argument("cannot map \"{}\": it is not a regular file", path.string());
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return Bytes();
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (address == MAP_FAILED) return errno_error(errno, "map", path);
  std::shared_ptr<const void> owner(
      address, [size](const void* mapped) { ::munmap(const_cast<void*>(mapped), size); });
  return Bytes(std::move(owner), {static_cast<const std::byte*>(address), size});
}

Result<std::string> read_text_file(const std::filesystem::path& path, std::int64_t limit_bytes) {
  const Bytes bytes = SLUICE_TRY(map_file(path));
  if (static_cast<std::int64_t>(bytes.size()) > limit_bytes) {
    return invalid_argument("\"{}\" has {} bytes; at most {} are read", path.string(), bytes.size(),
                            limit_bytes);
  }
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Status write_file_atomically(const std::filesystem::path& path,
                             std::span<const std::byte> contents) {
  std::string temporary = path.string() + ".XXXXXX";
  const FileDescriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (file.get() < 0) return errno_error(errno, "create a file beside", path);
  ::fchmod(file.get(), 0644);
  Status status = write_all(file.get(), contents, path);
  if (status.is_ok() && ::rename(temporary.c_str(), path.c_str()) != 0) {
    status = errno_error(errno, "rename a new file over", path);
  }
  if (!status.is_ok()) ::unlink(temporary.c_str());
  return status;
}

}  // namespace sluice
