#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace sluice {
namespace {

constexpr std::int64_t kReadBytes = 4096;

/// The file mappings of this process: `release` must not drop pages of other memory.
class Mappings {
 public:
  void add(const void* address, std::size_t size) {
    const std::lock_guard lock(mutex_);
    size_of_[address] = size;
  }
  void remove(const void* address) {
    const std::lock_guard lock(mutex_);
    size_of_.erase(address);
  }
  void release(std::span<const std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    auto found = size_of_.upper_bound(bytes.data());
    if (bytes.empty() || found == size_of_.begin()) return;
    --found;
    const auto* start = static_cast<const std::byte*>(found->first);
    const std::byte* end = bytes.data() + bytes.size();
    if (std::less<>()(start + found->second, end)) return;
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const auto offset = static_cast<std::size_t>(bytes.data() - start);
    const std::size_t first = (offset + page - 1) / page * page;
    // The last page of a file is its mapping's last too.
    const bool is_end = end == start + found->second;
    const std::size_t last = is_end ? found->second : (offset + bytes.size()) / page * page;
    if (first >= last) return;
    ::madvise(const_cast<std::byte*>(start) + first, last - first, MADV_DONTNEED);
  }

 private:
  std::mutex mutex_;
  std::map<const void*, std::size_t, std::less<>> size_of_;
};

Mappings& mappings() {
  static auto* const kMappings = new Mappings;  // never destroyed: maps may outlive it
  return *kMappings;
}

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

Status errno_error(int error, std::string_view what, const std::filesystem::path& path) {
  const Code code = error == ENOENT                      ? Code::kNotFound
                    : error == EACCES || error == EPERM  ? Code::kPermissionDenied
                    : error == ENOSPC || error == EDQUOT ? Code::kResourceExhausted
                                                         : Code::kUnknown;
  return make_error(code, "cannot {} \"{}\": {}", what, path.string(), std::strerror(error));
}

Result<Bytes> map_open(int file, const std::filesystem::path& path) {
  struct stat info = {};
  if (::fstat(file, &info) != 0) return errno_error(errno, "inspect", path);
  if (!S_ISREG(info.st_mode)) {
    return invalid_argument("cannot map \"{}\": it is not a regular file", path.string());
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return Bytes();
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
  if (address == MAP_FAILED) return errno_error(errno, "map", path);
  // Asks for huge pages in the page cache, which make page faults rare. Advisory: file systems
  // without support ignore it, so the result is not checked.
  ::madvise(address, size, MADV_HUGEPAGE);
  mappings().add(address, size);
  std::shared_ptr<const void> owner(address, [size](const void* mapped) {
    mappings().remove(mapped);
    ::munmap(const_cast<void*>(mapped), size);
  });
  return Bytes(std::move(owner), {static_cast<const std::byte*>(address), size});
}

Result<Bytes> map_file(const std::filesystem::path& path) {
  const FileDescriptor file(::open(path.c_str(), kReadFlags));
  if (file.get() < 0) return errno_error(errno, "open", path);
  return map_open(file.get(), path);
}

void release_pages(std::span<const std::byte> bytes) { mappings().release(bytes); }

namespace {

std::string version_text(const struct stat& now) {
  return fmt::format("{}:{} {} {}.{:09} {}.{:09}", now.st_dev, now.st_ino, now.st_size,
                     now.st_mtim.tv_sec, now.st_mtim.tv_nsec, now.st_ctim.tv_sec,
                     now.st_ctim.tv_nsec);
}

}  // namespace

std::string file_version(const std::filesystem::path& path) {
  struct stat now = {};
  return ::stat(path.c_str(), &now) == 0 ? version_text(now) : "-";
}

std::string file_version(int file) {
  struct stat now = {};
  return ::fstat(file, &now) == 0 ? version_text(now) : "-";
}

Result<std::string> read_text_file(const std::filesystem::path& path, std::int64_t limit_bytes) {
  const FileDescriptor file(::open(path.c_str(), kReadFlags));
  if (file.get() < 0) return errno_error(errno, "open", path);
  return read_open_text(file.get(), path, limit_bytes);
}

Result<std::string> read_open_text(int file, const std::filesystem::path& path,
                                   std::int64_t limit_bytes) {
  struct stat info = {};
  if (::fstat(file, &info) != 0) return errno_error(errno, "inspect", path);
  if (!S_ISREG(info.st_mode)) {
    return invalid_argument("cannot read \"{}\": it is not a regular file", path.string());
  }
  // Read, not mapped: a mapped file that somebody cuts meanwhile ends the process by a signal.
  std::string text;
  while (true) {
    const auto size = static_cast<std::int64_t>(text.size());
    if (std::max<std::int64_t>(size, info.st_size) > limit_bytes) {
      return invalid_argument("\"{}\" has {} bytes; the limit is {}", path.string(),
                              std::max<std::int64_t>(size, info.st_size), limit_bytes);
    }
    // Files of /proc and growing ones have more than they say.
    const auto room = static_cast<std::size_t>(std::max(info.st_size - size, kReadBytes));
    text.resize(text.size() + room);
    const ssize_t num = ::read(file, text.data() + size, room);
    text.resize(static_cast<std::size_t>(size + std::max<ssize_t>(num, 0)));
    if (num < 0 && errno == EINTR) continue;
    if (num < 0) return errno_error(errno, "read", path);
    if (num == 0) return text;
  }
}

AtomicFile::AtomicFile(std::filesystem::path target, std::string temporary, int fd)
    : target_(std::move(target)), temporary_(std::move(temporary)), fd_(fd) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : target_(std::move(other.target_)),
      temporary_(std::move(other.temporary_)),
      fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      unwritten_(std::move(other.unwritten_)) {}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

/// Files are written in pieces that end at multiples of 2 MiB, so that Linux can keep each in one
/// huge page of the page cache. A later mapping then needs one page fault per piece; with 4 KiB
/// pages the faults cost more time than reading the data.
constexpr std::size_t kPieceBytes = 2 << 20;

namespace {

/// How a file without a name gets one.
std::string link_of(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

/// A file without a name beside `target`; -1 where there are no such files.
int open_unnamed(const std::filesystem::path& target, mode_t mode) {
  const std::filesystem::path folder = target.parent_path();
  const int fd =
      ::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
  if (fd < 0 || ::access(link_of(fd).c_str(), F_OK) == 0) return fd;
  ::close(fd);
  return -1;
}

}  // namespace

Result<AtomicFile> AtomicFile::create(const std::filesystem::path& target, mode_t mode) {
  // The rename would put a file in the place of a device or a pipe.
  std::error_code error;
  const auto there = std::filesystem::status(target, error);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
    return invalid_argument("cannot write \"{}\": it is not a regular file", target.string());
  }
  std::string temporary;
  int fd = open_unnamed(target, mode);
  if (fd < 0) {
    // As mkostemp, but with the mode that the process gives its files.
    static std::atomic<std::uint32_t> next = 0;
    do {
      temporary = target.string() + "." + std::to_string(::getpid()) + "." + std::to_string(++next);
      fd = ::open(temporary.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode);
    } while (fd < 0 && errno == EEXIST);
  }
  if (fd < 0) return errno_error(errno, "create a file beside", target);
  return AtomicFile(target, std::move(temporary), fd);
}

Status AtomicFile::append(std::span<const std::byte> bytes) {
  const std::size_t room = kPieceBytes - static_cast<std::size_t>(size_) % kPieceBytes;
  size_ += static_cast<std::int64_t>(bytes.size());
  if (bytes.size() < room) {
    unwritten_.insert(unwritten_.end(), bytes.begin(), bytes.end());
    return ok_status();
  }
  if (!unwritten_.empty()) {
    const auto first = bytes.first(room);
    unwritten_.insert(unwritten_.end(), first.begin(), first.end());
    SLUICE_TRY(write_rest());
    bytes = bytes.subspan(room);
  }
  const auto rest = std::min(bytes.size(), static_cast<std::size_t>(size_) % kPieceBytes);
  SLUICE_TRY(write_all(fd_, bytes.first(bytes.size() - rest), target_));
  unwritten_.assign(bytes.end() - static_cast<std::ptrdiff_t>(rest), bytes.end());
  return ok_status();
}

Status AtomicFile::write_rest() {
  SLUICE_TRY(write_all(fd_, unwritten_, target_));
  unwritten_.clear();
  return ok_status();
}

Status AtomicFile::pad_to(std::int64_t alignment) {
  const std::int64_t padding = (alignment - size_ % alignment) % alignment;
  return append(std::vector<std::byte>(static_cast<std::size_t>(padding)));
}

Status AtomicFile::overwrite_start(std::span<const std::byte> bytes) {
  SLUICE_TRY(write_rest());
  if (::lseek(fd_, 0, SEEK_SET) < 0) return errno_error(errno, "seek in", target_);
  SLUICE_TRY(write_all(fd_, bytes, target_));
  if (::lseek(fd_, 0, SEEK_END) < 0) return errno_error(errno, "seek in", target_);
  return ok_status();
}

Result<Bytes> AtomicFile::map() {
  SLUICE_TRY(write_rest());
  return map_open(fd_, target_);
}

/// Names that an earlier process of this number left behind are passed over.
Status AtomicFile::give_name() {
  if (!temporary_.empty()) return ok_status();
  for (int number = 0;; ++number) {
    std::string name = fmt::format("{}.{}-{}", target_.string(), ::getpid(), number);
    if (::linkat(AT_FDCWD, link_of(fd_).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = std::move(name);
      return ok_status();
    }
    if (errno != EEXIST) return errno_error(errno, "name a file beside", target_);
  }
}

Status AtomicFile::commit() {
  SLUICE_TRY(write_rest());
  // Flush before the rename: otherwise a power failure can leave the new name with missing
  // contents.
  if (::fsync(fd_) != 0) return errno_error(errno, "flush", target_);
  SLUICE_TRY(give_name());
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
    return errno_error(errno, "rename a new file over", target_);
  }
  ::close(std::exchange(fd_, -1));
  return ok_status();
}

Status write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> contents,
                             mode_t mode) {
  AtomicFile file = SLUICE_TRY(AtomicFile::create(path, mode));
  SLUICE_TRY(file.append(contents));
  return file.commit();
}

}  // namespace sluice
