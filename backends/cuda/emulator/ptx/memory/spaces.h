// Addresses of a lane to bytes of the host, with every bound checked.
#pragma once

#include "emulator/ptx/code/types.h"
#include "emulator/ptx/memory/block.h"

namespace sluice::cuda::ptx {

/// What the lanes of a warp access with one instruction.
struct Addresses {
  std::uint64_t of[kLanes];
  Space space = Space::kGlobal;  ///< of all lanes; kGeneric only while it is being found
};

/// Addresses in[base] + offset. A generic space becomes the one that the first lane's address lies
/// in, with offsets within it; other lanes that differ are left to `reach`.
Addresses find_addresses(const Warp& warp, const Instruction& in, Space space, Place base);

/// Finds the bytes of one lane; null after warp.fail where they are outside or misaligned.
std::byte* reach(Warp& warp, const Addresses& addresses, int lane, std::uint32_t bytes,
                 Access access);

/// The same for all lanes of the mask at once: host[lane] is set. False after warp.fail.
bool reach_all(Warp& warp, const Addresses& addresses, std::uint32_t bytes, Access access,
               std::byte* host[kLanes]);

/// Counts what an instruction moves, and tells races of shared memory. `bytes`: of each lane.
void count_access(Warp& warp, const Instruction& in, const Addresses& addresses,
                  std::uint32_t bytes, Access access);

/// Fails the warp if a race was found. The access of the lane is the second one.
void check_races(Warp& warp, int lane);

}  // namespace sluice::cuda::ptx
