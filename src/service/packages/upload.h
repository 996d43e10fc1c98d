// A package that comes in pieces, into memory that nobody else can reach.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "base/byte_budget.h"
#include "base/bytes.h"
#include "base/result.h"
#include "package/executable.h"
#include "package/memory_file.h"

namespace sluice::service {

/// The uploaded packages in use: equal ones share one copy. Safe across threads.
class UploadedPackages {
 public:
  /// A package with these bytes that is in use; else that of `file`. Reads all of `file`, to
  /// compare it. `charge` is for the bytes and lasts as long as they do.
  /// Fails: as package::parse_package.
  Result<std::shared_ptr<const package::Executable>> parse(Bytes file, ByteCharge charge = {});

 private:
  struct Package {
    ByteCharge charge;  // ends after the bytes
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
  /// `payer` is charged for the bytes that have come. Requires: size_bytes > 0.
  /// Fails: kOutOfResources.
  static Result<std::unique_ptr<Upload>> create(std::int64_t size_bytes,
                                                const std::shared_ptr<ByteBudget>& payer);

  /// Fails: kInvalid if more comes than was announced; kOutOfResources.
  Status append(std::span<const char> bytes);
  /// Descriptor of the memory; valid as long as the upload.
  int fd() const { return file_.fd(); }

  /// The package, or an equal one that is in use; it keeps its memory. Once. Fails: kInvalid if
  /// less came than was announced; what parse_package reports.
  Result<std::shared_ptr<const package::Executable>> finish(UploadedPackages& packages);

 private:
  Upload(package::MemoryFile file, std::int64_t size_bytes, ByteCharge charge)
      : charge_(std::move(charge)), file_(std::move(file)), size_bytes_(size_bytes) {}

  ByteCharge charge_;  ///< ends after the file
  package::MemoryFile file_;
  const std::int64_t size_bytes_;
};

}  // namespace sluice::service
