// Host memory of a context: arenas, outputs, staging.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "backend/backend.h"
#include "base/huge_pages.h"
#include "base/result.h"

namespace sluice::exec {

/// Whether kernels may use this address as a tensor's.
inline bool is_aligned(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data) %
             static_cast<std::uintptr_t>(backend::kAlignment) ==
         0;
}

struct FreeBuffer {
  std::shared_ptr<HugePages> pages;  ///< where it is from; null: aligned_alloc
  std::int64_t size_bytes = 0;

  void operator()(void* data) const;
};

/// Grows, never shrinks; growing forgets the contents. Large ones are on huge pages: on those that
/// the process has reserved while there are enough, else where the kernel finds some. Move-only.
class AlignedBuffer {
 public:
  /// Fails: kResourceExhausted.
  Status reserve(std::int64_t size_bytes);
  /// As above, keeping the first `used_bytes`; grows by half at least.
  Status grow(std::int64_t size_bytes, std::int64_t used_bytes);

  void* data() const { return data_.get(); }
  std::int64_t size_bytes() const { return size_bytes_; }

 private:
  std::unique_ptr<void, FreeBuffer> data_;
  std::int64_t size_bytes_ = 0;
};

}  // namespace sluice::exec
