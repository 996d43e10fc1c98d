// Whole files: mapped, read, written atomically.
#pragma once

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace sluice {

/// Maps a regular file read-only and shared; the mapping lives as long as any copy of the Bytes.
/// Fails: kNotFound, kPermissionDenied, kInvalidArgument (not a regular file), kUnknown.
Result<Bytes> map_file(const std::filesystem::path& path);

/// Lets go of the physical memory of what map_file mapped; the bytes are read from the file again
/// when somebody looks at them. Does nothing for other memory. Safe across threads.
void release_pages(std::span<const std::byte> bytes);

/// A text that tells whether a file is the one that it was, without a look at its bytes: where it
/// lies, its size, and when its bytes and it were last changed. A copy that keeps size and time of
/// the other is another file. "-" if there is none. Follows links.
std::string file_version(const std::filesystem::path& path);
std::string file_version(int file);

/// Reads a file of at most `limit_bytes`.
Result<std::string> read_text_file(const std::filesystem::path& path,
                                   std::int64_t limit_bytes = std::int64_t{1} << 30);

/// A file written piece by piece beside its target and renamed over it at the end, so that a reader
/// sees the old file or the new, never half of one. Move-only; not thread-safe.
class AtomicFile {
 public:
  /// `mode`: who may use it, less what the process's mask forbids.
  /// Fails: kInvalidArgument for a target that exists and is no regular file, such as a device;
  ///        as opening a file in the target's folder.
  static Result<AtomicFile> create(const std::filesystem::path& target, mode_t mode = 0666);

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  /// Removes the written data unless it was committed. Where the file system has files without a
  /// name, an end of the process removes it too.
  ~AtomicFile();

  Status append(std::span<const std::byte> bytes);
  /// Appends zeros up to a multiple of `alignment`.
  Status pad_to(std::int64_t alignment);
  /// Replaces the first bytes: a header that is known last.
  /// Requires: bytes.size() <= size().
  Status overwrite_start(std::span<const std::byte> bytes);
  /// Bytes appended so far.
  std::int64_t size() const { return size_; }
  /// What was appended so far, as map_file maps it. Later appends do not change it.
  Result<Bytes> map();
  /// Renames over the target once the bytes are on the disk. Nothing may be appended after it.
  Status commit();

 private:
  AtomicFile(std::filesystem::path target, std::string temporary, int fd);
  Status write_rest();
  Status give_name();

  std::filesystem::path target_;
  std::string temporary_;  ///< its name until it is committed; empty: none
  int fd_ = -1;
  std::int64_t size_ = 0;
  std::vector<std::byte> unwritten_;
};

/// `mode`: as AtomicFile::create.
Status write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> contents,
                             mode_t mode = 0666);

// ---- for code that opens files itself

/// Without O_NONBLOCK, opening a FIFO waits for somebody who writes to it.
inline constexpr int kReadFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;

/// Closes on scope exit.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

/// `cannot open "a/b": No such file or directory`, with the code that fits `error`.
Status errno_error(int error, std::string_view what, const std::filesystem::path& path);

/// As map_file for a descriptor, which may be closed afterwards. `path` is for messages.
Result<Bytes> map_open(int file, const std::filesystem::path& path);
/// As read_text_file, likewise.
Result<std::string> read_open_text(int file, const std::filesystem::path& path,
                                   std::int64_t limit_bytes);

}  // namespace sluice
