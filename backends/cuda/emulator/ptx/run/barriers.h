// The 16 barriers of a block.
#pragma once

#include <array>
#include <cstdint>

namespace sluice::cuda::ptx {

inline constexpr std::uint32_t kBarriers = 16;

/// Threads that reached a barrier since it opened last.
struct Barrier {
  std::uint32_t arrived = 0;   ///< threads
  std::uint32_t counted = 0;   ///< threads, whole warps as 32, for barriers with a count
  std::uint32_t expected = 0;  ///< threads by `counted`; 0: all threads of the block that live
  std::uint32_t holds = 0;     ///< threads whose predicate is true, for a reduction
  std::uint32_t line = 0;      ///< where a thread last arrived

  bool is_open(std::uint32_t live) const {
    return arrived > 0 && (expected > 0 ? counted >= expected : arrived >= live);
  }
};

using Barriers = std::array<Barrier, kBarriers>;

}  // namespace sluice::cuda::ptx
