// A package that comes in pieces, into memory that nobody else can reach.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "package/executable.h"

namespace sluice::rpc::server {

/// The uploaded packages in use: equal ones share one copy. Safe across threads.
class UploadedPackages {
 public:
  /// A package with these bytes that is in use; else that of `file`. Reads all of `file`, to
  /// compare it. Fails: as package::parse_package.
  Result<std::shared_ptr<const package::Executable>> parse(Bytes file);

 private:
  struct Package {
    Bytes file;
    package::Executable executable;
  };
  std::shared_ptr<const Package> find_locked(std::uint64_t checksum, const Bytes& file);

  std::mutex mutex_;
  std::multimap<std::uint64_t, std::weak_ptr<const Package>> packages_;  ///< by checksum
};

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

  /// The package, or an equal one that is in use; it keeps its memory. Once. Fails: kInvalid if
  /// less came than was announced; what parse_package reports.
  Result<std::shared_ptr<const package::Executable>> finish(UploadedPackages& packages);

 private:
  Upload(int fd, std::int64_t size_bytes) : fd_(fd), size_bytes_(size_bytes) {}

  int fd_;
  const std::int64_t size_bytes_;
  std::int64_t received_bytes_ = 0;
};

}  // namespace sluice::rpc::server
