#include "package/memory_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/file.h"

namespace sluice::package {

Result<MemoryFile> MemoryFile::create() {
  const int fd = ::memfd_create("package.sluice", MFD_CLOEXEC);
  if (fd < 0) {
    return make_error(Code::kResourceExhausted, "cannot create a file in memory: {}",
                      std::strerror(errno));
  }
  return MemoryFile(fd);
}

MemoryFile::MemoryFile(MemoryFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), size_bytes_(other.size_bytes_) {}

MemoryFile::~MemoryFile() {
  if (fd_ >= 0) ::close(fd_);
}

Status MemoryFile::append(std::span<const std::byte> bytes) {
  SLUICE_TRY(write_at(bytes, size_bytes_));
  size_bytes_ += static_cast<std::int64_t>(bytes.size());
  return ok_status();
}

Status MemoryFile::pad_to(std::int64_t alignment) {
  // ftruncate fills the gap with zeros.
  size_bytes_ = (size_bytes_ + alignment - 1) / alignment * alignment;
  if (::ftruncate(fd_, size_bytes_) == 0) return ok_status();
  return make_error(Code::kResourceExhausted, "cannot grow a file in memory: {}",
                    std::strerror(errno));
}

Status MemoryFile::overwrite_start(std::span<const std::byte> bytes) { return write_at(bytes, 0); }

Status MemoryFile::write_at(std::span<const std::byte> bytes, std::int64_t offset) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(fd_, bytes.data(), bytes.size(), offset);
    // A signal may interrupt a long write; memory that runs out makes it short.
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      return make_error(Code::kResourceExhausted, "cannot write to a file in memory: {}",
                        std::strerror(errno));
    }
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += count;
  }
  return ok_status();
}

// Opening the link of /proc gives a file description of its own: the map outlives fd_.
Result<Bytes> MemoryFile::map() const { return map_file("/proc/self/fd/" + std::to_string(fd_)); }

}  // namespace sluice::package
