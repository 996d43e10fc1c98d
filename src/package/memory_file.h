// An unnamed file in memory that is written as AtomicFile is.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/result.h"

namespace sluice::package {

/// Anonymous memory behind a file descriptor: large appends are copied once, and the whole is
/// mapped, not gathered. Move-only; not thread-safe.
class MemoryFile {
 public:
  static Result<MemoryFile> create();

  MemoryFile(MemoryFile&& other) noexcept;
  MemoryFile& operator=(MemoryFile&&) = delete;
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile();

  /// Fails: kResourceExhausted.
  Status append(std::span<const std::byte> bytes);
  /// Appends zeros up to a multiple of `alignment`.
  Status pad_to(std::int64_t alignment);
  /// Requires: bytes.size() <= size().
  Status overwrite_start(std::span<const std::byte> bytes);
  std::int64_t size() const { return size_bytes_; }
  /// Descriptor of the memory; valid as long as the file.
  int fd() const { return fd_; }
  /// The contents; they outlive the file.
  Result<Bytes> map() const;

 private:
  explicit MemoryFile(int fd) : fd_(fd) {}
  Status write_at(std::span<const std::byte> bytes, std::int64_t offset);

  int fd_ = -1;
  std::int64_t size_bytes_ = 0;
};

}  // namespace sluice::package
