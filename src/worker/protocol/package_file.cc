#include "worker/protocol/package_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/file.h"
#include "base/system/folder.h"
#include "package/package.h"
#include "terms/runtime_code.h"

namespace sluice::worker {

Result<std::shared_ptr<const package::Executable>> map_package(int fd, bool keeps_code) {
  struct stat info = {};
  if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size <= 0) {
    return terms::runtime_error(RuntimeCode::kInvalid, "the package is no file, or an empty one");
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  void* data = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) {
    return terms::runtime_error(RuntimeCode::kOutOfResources, "mapping a package of {} bytes: {}",
                                size, std::strerror(errno));
  }
  const std::shared_ptr<const void> owner(data, [size](void* mapped) { munmap(mapped, size); });
  auto executable =
      package::parse_package(Bytes(owner, {static_cast<const std::byte*>(data), size}));
  if (executable.is_ok()) {
    if (!keeps_code) executable->code.clear();
    return std::make_shared<const package::Executable>(std::move(*executable));
  }
  const bool is_version = executable.status().code() == Code::kUnimplemented;
  return terms::with_runtime_code(
      executable.status(), is_version ? RuntimeCode::kUnsupportedVersion : RuntimeCode::kInvalid);
}

Result<shm::Fd> open_package(const std::filesystem::path& path, bool is_real) {
  if (is_real) {
    const auto file = open_real(path);
    if (file.is_ok()) return duplicate(file->get());
    return terms::runtime_error(RuntimeCode::kInvalid, "{}", file.status().message());
  }
  shm::Fd fd(open(path.c_str(), kReadFlags));
  if (fd.is_valid()) return fd;
  return terms::runtime_error(RuntimeCode::kInvalid, "{}: {}", path.string(), std::strerror(errno));
}

Result<shm::Fd> duplicate(int fd) {
  shm::Fd copy(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (copy.is_valid()) return copy;
  return terms::runtime_error(RuntimeCode::kOutOfResources, "a descriptor for a package: {}",
                              std::strerror(errno));
}

}  // namespace sluice::worker
