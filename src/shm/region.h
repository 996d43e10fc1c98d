// Memory that a client shares with the daemon, as the daemon sees it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"

namespace sluice::shm {

/// Alignment of tensor offsets in regions, because kernels read tensors in place.
inline constexpr std::uint64_t kPlaceAlignment = 64;

/// Whatever the owner does with the memory, shrinking it included, no call here raises a signal.
/// The bytes may change at any time: what must not change is copied first. Safe across threads.
///
/// Two kinds: a memfd that is sealed against shrinking is mapped. A POSIX name cannot be sealed, so
/// it is never mapped, and read and written by calls that fail where the memory is gone.
class Region {
 public:
  /// Maps the first `size_bytes` of a memfd; `fd` may be closed afterwards.
  /// Fails: kInvalidArgument unless `fd` is a writable memfd on normal pages, sealed with
  /// F_SEAL_SHRINK and of at least this size; kResourceExhausted.
  static Result<std::shared_ptr<Region>> adopt(int fd, std::uint64_t size_bytes);

  /// Opens what shm_open made as `name`, "/frames". `owner`: the user whose it must be; none: any.
  /// Fails: kInvalidArgument, kNotFound; kPermissionDenied where it is another user's.
  static Result<std::shared_ptr<Region>> open(const std::string& name,
                                              std::optional<std::int64_t> owner);

  Region() = default;
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  virtual ~Region() = default;

  virtual std::uint64_t size_bytes() const = 0;
  /// The POSIX name; empty for a region without one.
  virtual const std::string& name() const = 0;
  /// All of it; empty where it cannot be mapped.
  virtual std::span<std::byte> mapped() const = 0;

  // Requires of both: check_inside(offset, bytes.size()) is ok.
  // Fails: kFailedPrecondition where the owner has shrunk the region.
  virtual Status read(std::uint64_t offset, std::span<std::byte> to) const = 0;
  virtual Status write(std::uint64_t offset, std::span<const std::byte> from) const = 0;

  /// Fails: kOutOfRange unless all of it lies in the region and `offset` is aligned.
  Status check(std::uint64_t offset, std::uint64_t size) const;
  /// The same for bytes that are only copied, at any offset.
  Status check_inside(std::uint64_t offset, std::uint64_t size) const;
};

}  // namespace sluice::shm
