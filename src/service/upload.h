// A package that comes in pieces, into memory that nobody else can reach.
#pragma once

#include <memory>
#include <span>

#include "package/executable.h"

namespace sluice::service {

/// Used by one thread at a time.
class Upload {
 public:
  /// Requires: size_bytes > 0. Fails: kOutOfResources.
  static Result<std::unique_ptr<Upload>> create(std::int64_t size_bytes);
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;
  ~Upload();

  /// Fails: kInvalid if more comes than was announced; kOutOfResources.
  Status append(std::span<const char> bytes);
  std::int64_t num_received() const { return received_bytes_; }
  std::int64_t size_bytes() const { return size_bytes_; }
  /// Of the memory; as long as the upload.
  int fd() const { return fd_; }

  /// The package, which keeps the memory. Once. Fails: kInvalid if less came than was announced;
  /// what parse_package reports.
  Result<std::shared_ptr<const package::Executable>> finish();

 private:
  Upload(int fd, std::int64_t size_bytes) : fd_(fd), size_bytes_(size_bytes) {}

  int fd_;
  const std::int64_t size_bytes_;
  std::int64_t received_bytes_ = 0;
};

}  // namespace sluice::service
