// A running block: its memory, and what its warps share.
#pragma once

#include <vector>

#include "emulator/ptx/code/launch.h"
#include "emulator/ptx/code/warp.h"
#include "emulator/ptx/memory/copies.h"
#include "emulator/ptx/memory/races.h"
#include "emulator/ptx/memory/random.h"

namespace sluice::cuda::ptx {

struct Block {
  const Program* program = nullptr;
  const Launch* launch = nullptr;
  GlobalMemory* global = nullptr;
  Counts* counts = nullptr;
  Dim3 index;
  std::uint64_t number = 0;  ///< counted along x, y, z
  std::vector<std::byte> shared;
  std::vector<std::byte> local;  ///< of each thread, one after the other
  Races races;
  std::vector<Copies> copies;  ///< of each warp
  Random random;
  std::uint64_t clock = 0;  ///< instructions of warps so far: %clock
};

}  // namespace sluice::cuda::ptx
