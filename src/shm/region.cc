#include "shm/region.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "shm/fd_socket.h"

#if defined(__SANITIZE_THREAD__)
// Functions of the sanitizer's library; no header of its declares them.
extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void __tsan_read_range(const void* data, std::size_t size);   // NOLINT: its name
void __tsan_write_range(const void* data, std::size_t size);  // NOLINT: its name
}
#endif

namespace sluice::shm {
namespace {

#if defined(__SANITIZE_THREAD__)
/// A client may write to its memory whenever it likes, from here too if it gives its ring as the
/// place of an output: no race of ours. The other end of a copy is ours, and looked at.
void copy_in(std::byte* shared, std::span<const std::byte> from) {
  __tsan_read_range(from.data(), from.size());
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);  // and writes
  std::memcpy(shared, from.data(), from.size());
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}
void copy_out(std::span<std::byte> to, const std::byte* shared) {
  __tsan_write_range(to.data(), to.size());
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  std::memcpy(to.data(), shared, to.size());
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}
#else
void copy_in(std::byte* shared, std::span<const std::byte> from) {
  std::memcpy(shared, from.data(), from.size());
}
void copy_out(std::span<std::byte> to, const std::byte* shared) {
  std::memcpy(to.data(), shared, to.size());
}
#endif

constexpr std::uint64_t kMaxBytes = std::numeric_limits<std::int64_t>::max() / 2;

class MappedRegion final : public Region {
 public:
  explicit MappedRegion(std::span<std::byte> memory) : memory_(memory) {}
  ~MappedRegion() override { munmap(memory_.data(), memory_.size()); }

  std::uint64_t size_bytes() const override { return memory_.size(); }
  const std::string& name() const override { return name_; }
  std::span<std::byte> mapped() const override { return memory_; }
  Status read(std::uint64_t offset, std::span<std::byte> to) const override {
    if (!to.empty()) copy_out(to, memory_.data() + offset);
    return ok_status();
  }
  Status write(std::uint64_t offset, std::span<const std::byte> from) const override {
    if (!from.empty()) copy_in(memory_.data() + offset, from);
    return ok_status();
  }

 private:
  const std::span<std::byte> memory_;
  const std::string name_;
};

/// Read and written by calls, not mapped: nothing seals such memory, and a mapping of what its
/// owner shrinks raises SIGBUS.
class NamedRegion final : public Region {
 public:
  NamedRegion(Fd fd, std::string name, std::uint64_t size_bytes)
      : fd_(std::move(fd)), name_(std::move(name)), size_bytes_(size_bytes) {}

  std::uint64_t size_bytes() const override { return size_bytes_; }
  const std::string& name() const override { return name_; }
  std::span<std::byte> mapped() const override { return {}; }

  Status read(std::uint64_t offset, std::span<std::byte> to) const override {
    while (!to.empty()) {
      const ssize_t count = pread(fd_.get(), to.data(), to.size(), static_cast<off_t>(offset));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return shrunk(offset);
      offset += static_cast<std::uint64_t>(count);
      to = to.subspan(static_cast<std::size_t>(count));
    }
    return ok_status();
  }

  Status write(std::uint64_t offset, std::span<const std::byte> from) const override {
    // A write past the end would make the region larger again, and hide what its owner did.
    struct stat info = {};
    if (fstat(fd_.get(), &info) != 0 ||
        static_cast<std::uint64_t>(info.st_size) < offset + from.size()) {
      return shrunk(offset);
    }
    while (!from.empty()) {
      const ssize_t count = pwrite(fd_.get(), from.data(), from.size(), static_cast<off_t>(offset));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) {
        return make_error(Code::kResourceExhausted, "region \"{}\": writing at {}: {}", name_,
                          offset, std::strerror(errno));
      }
      offset += static_cast<std::uint64_t>(count);
      from = from.subspan(static_cast<std::size_t>(count));
    }
    return ok_status();
  }

 private:
  Status shrunk(std::uint64_t offset) const {
    return make_error(Code::kFailedPrecondition,
                      "region \"{}\" had {} bytes when it was registered and ends before {} now; "
                      "do not shrink it while it is registered",
                      name_, size_bytes_, offset);
  }

  const Fd fd_;
  const std::string name_;
  const std::uint64_t size_bytes_;
};

Status check_memfd(int fd, std::uint64_t size_bytes) {
  // Huge pages that somebody gave back raise SIGBUS where the pool is empty, whatever the seals.
  struct statfs system = {};
  if (fstatfs(fd, &system) != 0 || static_cast<unsigned long>(system.f_type) != TMPFS_MAGIC) {
    return invalid_argument("a region is a memfd (memfd_create) on normal pages; this is none");
  }
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return invalid_argument(
        "the region can shrink while the daemon reads it; make it with memfd_create and "
        "MFD_ALLOW_SEALING, and seal it: fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK)");
  }
  struct stat info = {};
  if (fstat(fd, &info) != 0 || size_bytes > static_cast<std::uint64_t>(info.st_size)) {
    return invalid_argument("the region has {} bytes, {} were announced", info.st_size, size_bytes);
  }
  return ok_status();
}

}  // namespace

Result<std::shared_ptr<Region>> Region::adopt(int fd, std::uint64_t size_bytes) {
  if (size_bytes == 0 || size_bytes > kMaxBytes) {
    return invalid_argument("a region of {} bytes cannot be", size_bytes);
  }
  SLUICE_TRY(check_memfd(fd, size_bytes));
  void* memory = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory != MAP_FAILED) {
    return std::shared_ptr<Region>(std::make_shared<MappedRegion>(
        std::span<std::byte>(static_cast<std::byte*>(memory), size_bytes)));
  }
  if (errno == EACCES || errno == EPERM) {
    return invalid_argument(
        "the region cannot be written; open it for reading and writing and leave it without "
        "F_SEAL_WRITE");
  }
  return make_error(Code::kResourceExhausted, "mapping a region of {} bytes: {}", size_bytes,
                    std::strerror(errno));
}

Result<std::shared_ptr<Region>> Region::open(const std::string& name,
                                             std::optional<std::int64_t> owner) {
  const bool is_name = name.size() > 1 && name.size() < 256 && name[0] == '/' &&
                       name.find('/', 1) == std::string::npos &&
                       name.find('\0') == std::string::npos;
  if (!is_name) {
    return invalid_argument("\"{}\" is no name of shared memory such as \"/frames\"",
                            name.substr(0, 100));
  }
  // O_NONBLOCK, so that a FIFO of that name does not hold the daemon up.
  Fd fd(shm_open(name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0));
  if (!fd.is_valid()) {
    return make_error(errno == EACCES ? Code::kPermissionDenied : Code::kNotFound,
                      "shared memory \"{}\": {}", name, std::strerror(errno));
  }
  struct stat info = {};
  struct statfs system = {};
  if (fstat(fd.get(), &info) != 0 || fstatfs(fd.get(), &system) != 0 || !S_ISREG(info.st_mode) ||
      static_cast<unsigned long>(system.f_type) != TMPFS_MAGIC) {
    return invalid_argument("\"{}\" is no shared memory", name);
  }
  // The daemon has rights that its client lacks, so it checks the owner.
  if (owner && *owner != static_cast<std::int64_t>(info.st_uid)) {
    return make_error(Code::kPermissionDenied,
                      "shared memory \"{}\" belongs to user {}; register one of your own", name,
                      info.st_uid);
  }
  if (info.st_size <= 0) {
    return invalid_argument("shared memory \"{}\" is empty; give it a size with ftruncate", name);
  }
  return std::shared_ptr<Region>(
      std::make_shared<NamedRegion>(std::move(fd), name, static_cast<std::uint64_t>(info.st_size)));
}

Status Region::check(std::uint64_t offset, std::uint64_t size) const {
  if (offset % kPlaceAlignment != 0) {
    return make_error(Code::kOutOfRange, "offset {} is no multiple of {}", offset, kPlaceAlignment);
  }
  return check_inside(offset, size);
}

Status Region::check_inside(std::uint64_t offset, std::uint64_t size) const {
  if (offset <= size_bytes() && size <= size_bytes() - offset) return ok_status();
  return make_error(Code::kOutOfRange, "{} bytes at {} do not lie in a region of {} bytes", size,
                    offset, size_bytes());
}

}  // namespace sluice::shm
