// Matrix instructions concern all lanes at once.
#pragma once

#include "emulator/ptx/code/warp.h"

namespace sluice::cuda::ptx {

/// False after warp.fail, unless all 32 lanes run the instruction.
inline bool is_whole(Warp& warp) {
  if (warp.mask == kAllLanes) return true;
  warp.fail(SLUICE_FAILED_PRECONDITION, std::countr_zero(warp.mask),
            "not all 32 lanes of the warp run this together");
  return false;
}

}  // namespace sluice::cuda::ptx
