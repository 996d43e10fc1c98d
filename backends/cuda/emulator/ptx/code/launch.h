// What one launch of a kernel takes and says: sizes, memory, counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "sluice/backend.hpp"

namespace sluice::cuda::ptx {

using plugin::Status;

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;

  std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

/// Generic addresses from here on are shared and local memory and parameters of a block; addresses
/// of device memory lie below.
inline constexpr std::uint64_t kSharedWindow = std::uint64_t{1} << 56;
inline constexpr std::uint64_t kLocalWindow = std::uint64_t{2} << 56;
inline constexpr std::uint64_t kParameterWindow = std::uint64_t{3} << 56;

/// Shared memory of a block, static and dynamic; threads of a block.
inline constexpr std::uint32_t kMaxSharedBytes = 227 * 1024;
inline constexpr std::uint32_t kMaxBlockThreads = 1024;

enum class Access : std::uint8_t { kRead, kWrite, kAtomic };

/// Device memory as kernels reach it. One launch calls it from one thread.
class GlobalMemory {
 public:
  virtual ~GlobalMemory() = default;

  /// Where the host finds `bytes` bytes of device memory; null unless all of them lie in one live
  /// allocation that allows `access`. The pointer is used before the next call alone.
  virtual std::byte* at(std::uint64_t address, std::size_t bytes, Access access) = 0;

  /// Why `at` returned null, for the text of an error: "beyond the end of the allocation at ...".
  virtual std::string describe(std::uint64_t address, std::size_t bytes) const = 0;
};

/// Sizes of a launch, and what a GPU leaves open.
struct Launch {
  Dim3 grid, block;
  std::uint32_t dynamic_shared_bytes = 0;
  /// Laid out as Kernel::parameters says. Borrowed until the launch returns.
  std::span<const std::byte> parameters;
  /// Block i runs on multiprocessors[i % size]: its %smid. Empty: all run on 0.
  std::span<const std::uint32_t> multiprocessors;
  std::uint32_t multiprocessor_count = 1;  ///< %nsmid
  /// Draws the order of blocks and of warps, and when asynchronous copies land. 0: order of index.
  std::uint64_t seed = 0;
  /// Instructions of warps after which the launch fails, so that an endless kernel ends.
  std::uint64_t max_instructions = std::uint64_t{1} << 32;
  /// Fail if threads of two warps touch a byte of shared memory, one of them writing, without a
  /// barrier or fence in between.
  bool refuses_races = true;
};

/// What a launch did: figures that stand for its speed on a device.
struct Counts {
  std::uint64_t warp_instructions = 0;
  std::uint64_t global_load_bytes = 0;    ///< of all threads together
  std::uint64_t global_load_sectors = 0;  ///< distinct 32-byte sectors, per instruction of a warp
  std::uint64_t global_store_bytes = 0;
  std::uint64_t global_store_sectors = 0;
  std::uint64_t shared_accesses = 0;         ///< instructions of warps that touch shared memory
  std::uint64_t shared_bank_conflicts = 0;   ///< extra turns they take because lanes share a bank
  std::uint64_t matrix_products = 0;         ///< mma instructions of warps
  std::uint64_t matrix_multiplications = 0;  ///< of numbers, by matrix units
  std::uint64_t lane_multiplications = 0;    ///< of floats, by fma instructions
  std::uint64_t global_accesses = 0;         ///< instructions of warps that touch device memory
  std::uint64_t scattered_accesses = 0;  ///< those whose sectors hold far more than is asked for
};

}  // namespace sluice::cuda::ptx
