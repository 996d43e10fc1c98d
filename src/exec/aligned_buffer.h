// Host memory of a context: arenas, outputs, staging.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "base/system/huge_pages.h"
#include "exec/memory_scope.h"

namespace sluice::exec {

struct FreeBuffer {
  std::shared_ptr<HugePages> pages;  ///< owner of the memory; null: aligned_alloc
  std::int64_t size_bytes = 0;
  std::shared_ptr<ByteBudget> budget;  ///< what the buffer was charged to; null: nothing
  std::int64_t charged_bytes = 0;

  void operator()(void* data) const;
};

/// Grows, never shrinks; growing discards the contents, a failure too. The memory is charged to the
/// MemoryScope of the thread that reserves it, until the buffer is freed. Buffers of a huge page or
/// more use huge pages: reserved ones while the process has some, else transparent ones if the
/// kernel provides them. Move-only.
class AlignedBuffer {
 public:
  /// Fails: kResourceExhausted.
  Status reserve(std::int64_t size_bytes);
  /// As above, keeping the first `used_bytes`; grows by half at least.
  Status grow(std::int64_t size_bytes, std::int64_t used_bytes);

  /// Ends the charge before the buffer is freed: its memory goes to somebody else.
  void end_charge();

  void* data() const { return data_.get(); }
  std::int64_t size_bytes() const { return size_bytes_; }

 private:
  std::unique_ptr<void, FreeBuffer> data_;
  std::int64_t size_bytes_ = 0;
};

}  // namespace sluice::exec
