// Device memory, reused instead of allocated and freed.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "backend/memory.h"
#include "base/result.h"
#include "device/memory_usage.h"

namespace sluice::device {

struct MemoryPoolOptions {
  /// Limit on the bytes taken from the device.
  std::int64_t limit_bytes = std::numeric_limits<std::int64_t>::max();
  /// Limit on idle bytes. 0 keeps none.
  std::int64_t slack_bytes = std::int64_t{16} << 20;
};

struct MemoryPoolState;

/// Memory borrowed from a pool, with the device's alignment; the destructor returns it. Move-only;
/// keeps the pool's blocks alive, so the pool may be destroyed first.
class PooledMemory {
 public:
  PooledMemory() = default;
  PooledMemory(PooledMemory&& other) noexcept;
  PooledMemory& operator=(PooledMemory&& other) noexcept;
  PooledMemory(const PooledMemory&) = delete;
  PooledMemory& operator=(const PooledMemory&) = delete;
  ~PooledMemory();

  void* address() const { return block_ ? block_->address() : nullptr; }
  std::int64_t size_bytes() const { return size_bytes_; }  ///< as asked for

 private:
  friend class MemoryPool;
  std::shared_ptr<MemoryPoolState> pool_;
  std::unique_ptr<backend::DeviceMemory> block_;
  std::int64_t size_bytes_ = 0;
  std::string client_;
  MemoryCategory category_ = MemoryCategory::kOther;
};

/// Grows lazily: allocates from the device only if no idle block fits. Shrinks eagerly: frees idle
/// blocks beyond the slack at once, and all idle blocks before an allocation fails. Safe across
/// threads.
class MemoryPool {
 public:
  using Source = std::function<Result<backend::DeviceMemory>(std::int64_t size_bytes)>;

  /// What a request of this size takes from the device: rounded up to a multiple of an eighth of
  /// its power of two and of the alignment, at least 256, so that blocks can be reused for similar
  /// sizes. From eight alignments on at most an eighth is wasted. nullopt past 64 bits.
  static std::optional<std::int64_t> block_bytes(std::int64_t size_bytes);

  /// A pool for one device of a backend.
  static MemoryPool of_device(std::shared_ptr<const backend::Backend> backend, int device,
                              const MemoryPoolOptions& options = {});
  MemoryPool(Source source, const MemoryPoolOptions& options);

  /// Fails: kInvalidArgument    a negative size
  ///        kResourceExhausted  past the limit, or the device has no more; names who uses how much
  Result<PooledMemory> allocate(std::int64_t size_bytes, std::string_view client,
                                MemoryCategory category);

  MemoryUsage usage() const;
  /// Frees all idle blocks.
  void release_idle();

 private:
  std::shared_ptr<MemoryPoolState> state_;
};

}  // namespace sluice::device
