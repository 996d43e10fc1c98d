// What an access of a warp costs on a device: sectors of device memory, banks of shared memory.
#pragma once

#include <cstdint>

namespace sluice::cuda::ptx {

inline constexpr std::uint64_t kSectorBytes = 32;

/// Distinct 32-byte sectors that the lanes of `mask` touch. An access lies in one: it is aligned to
/// its size.
std::uint64_t count_sectors(std::uint32_t mask, const std::uint64_t addresses[32]);

/// Turns beyond the first that 32 banks of 4 bytes need. Accesses of 8 bytes are served in halves
/// of a warp, of 16 bytes in quarters; lanes that read one word share it (CUDA C++ Programming
/// Guide, "Shared Memory").
std::uint64_t count_conflicts(std::uint32_t mask, const std::uint64_t addresses[32],
                              std::uint32_t bytes);

}  // namespace sluice::cuda::ptx
