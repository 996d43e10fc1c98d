#include "emulator/machine/pool.h"

#include <algorithm>

namespace sluice::cuda::emulator {

std::uint64_t MemoryPool::take(std::size_t bytes, const Stream& stream) {
  const std::uint64_t wanted = rounded_bytes(bytes);
  used_ += wanted;
  used_high_ = std::max(used_high_, used_);
  const auto fits = std::ranges::find_if(free_, [&](const Block& block) {
    return block.bytes >= wanted && (block.stream.get() == &stream || block.done->is_reached);
  });
  if (fits != free_.end()) {
    fits->bytes -= wanted;
    if (fits->bytes == 0) free_.erase(fits);
    return 0;
  }
  reserved_ += wanted;
  reserved_high_ = std::max(reserved_high_, reserved_);
  return wanted;
}

void MemoryPool::cancel(std::size_t bytes, std::uint64_t reserved) {
  used_ -= rounded_bytes(bytes);
  reserved_ -= reserved;
}

void MemoryPool::give_back(std::size_t bytes, std::shared_ptr<const Stream> stream,
                           std::shared_ptr<Completion> done) {
  used_ -= rounded_bytes(bytes);
  free_.push_back({rounded_bytes(bytes), std::move(stream), std::move(done), false});
}

std::uint64_t MemoryPool::synchronise() {
  for (Block& block : free_) block.is_observed = block.is_observed || block.done->is_reached;
  return trim_to(threshold_);
}

std::uint64_t MemoryPool::trim_to(std::uint64_t min_bytes) {
  std::uint64_t released = 0;
  for (auto block = free_.begin(); block != free_.end();) {
    const bool goes = block->is_observed && reserved_ - block->bytes >= min_bytes;
    if (goes) {
      released += block->bytes;
      reserved_ -= block->bytes;
    }
    block = goes ? free_.erase(block) : block + 1;
  }
  return released;
}

CuResult MemoryPool::set(CuMemoryPoolAttribute attribute, const void* value) {
  using enum CuMemoryPoolAttribute;
  switch (attribute) {
    case kReuseFollowEventDependencies:
    case kReuseAllowOpportunistic:
    case kReuseAllowInternalDependencies:
      reuse_[static_cast<int>(attribute)] = *static_cast<const int*>(value);
      return CuResult::kSuccess;
    case kReleaseThreshold:
      threshold_ = *static_cast<const std::uint64_t*>(value);
      return CuResult::kSuccess;
    case kReservedHigh:
    case kUsedHigh: {  // only 0, which starts the count again
      if (*static_cast<const std::uint64_t*>(value) != 0) return CuResult::kInvalidValue;
      const bool is_used = attribute == kUsedHigh;
      (is_used ? used_high_ : reserved_high_) = is_used ? used_ : reserved_;
      return CuResult::kSuccess;
    }
    default: return CuResult::kInvalidValue;
  }
}

CuResult MemoryPool::get(CuMemoryPoolAttribute attribute, void* value) const {
  using enum CuMemoryPoolAttribute;
  const auto answer = [&](std::uint64_t number) {
    *static_cast<std::uint64_t*>(value) = number;
    return CuResult::kSuccess;
  };
  switch (attribute) {
    case kReuseFollowEventDependencies:
    case kReuseAllowOpportunistic:
    case kReuseAllowInternalDependencies:
      *static_cast<int*>(value) = reuse_[static_cast<int>(attribute)];
      return CuResult::kSuccess;
    case kReleaseThreshold: return answer(threshold_);
    case kReservedCurrent: return answer(reserved_);
    case kReservedHigh: return answer(reserved_high_);
    case kUsedCurrent: return answer(used_);
    case kUsedHigh: return answer(used_high_);
  }
  return CuResult::kInvalidValue;
}

}  // namespace sluice::cuda::emulator
