// The memory limit of a group, and its use by category.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "terms/group.h"

namespace sluice::topology {

/// Accounts for bytes by category ("constants", "arenas", "queues"). It allocates no memory:
/// allocating code reserves bytes first and releases them afterwards. Safe across threads.
class MemoryBudget {
 public:
  /// No limit.
  static constexpr std::int64_t kUnlimited = terms::kUnlimitedBytes;

  /// `name` appears in messages: "core group 3".
  MemoryBudget(std::string name, std::int64_t limit_bytes)
      : name_(std::move(name)), limit_bytes_(limit_bytes) {}

  /// Requires: `bytes` >= 0.
  /// Fails: kResourceExhausted; the message lists the limit, the request and the bytes by category.
  Status reserve(std::string_view category, std::int64_t bytes);
  /// Requires: the category has reserved at least `bytes`.
  void release(std::string_view category, std::int64_t bytes);

  /// Categories with bytes, the largest first.
  std::vector<terms::MemoryItem> items() const;
  std::int64_t used_bytes() const;
  /// The largest use so far.
  std::int64_t peak_bytes() const;
  std::int64_t limit_bytes() const { return limit_bytes_; }

 private:
  std::string itemise() const;

  const std::string name_;
  const std::int64_t limit_bytes_;
  mutable std::mutex mutex_;
  std::map<std::string, std::int64_t, std::less<>> bytes_of_;
  std::int64_t used_bytes_ = 0;
  std::int64_t peak_bytes_ = 0;
};

/// Bytes reserved from a budget, released at the end of its life. Move-only; the budget outlives
/// it.
class MemoryLease {
 public:
  static Result<MemoryLease> reserve(MemoryBudget& budget, std::string_view category,
                                     std::int64_t bytes);
  MemoryLease() = default;
  MemoryLease(MemoryLease&& other) noexcept;
  MemoryLease& operator=(MemoryLease&& other) noexcept;
  MemoryLease(const MemoryLease&) = delete;
  MemoryLease& operator=(const MemoryLease&) = delete;
  ~MemoryLease();

  std::int64_t bytes() const { return bytes_; }

 private:
  MemoryBudget* budget_ = nullptr;
  std::string category_;
  std::int64_t bytes_ = 0;
};

}  // namespace sluice::topology
