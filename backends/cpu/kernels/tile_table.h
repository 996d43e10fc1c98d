#pragma once

// The right instance of gemm_tile.h for a size known at run time.

#include "kernels/gemm_tile.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

template <int kRows>
SLUICE_CPU_INLINE TileFunction tile_of(int vectors) {
  if constexpr (kTileVectors == 4) {
    if (vectors == 4) return tile<kRows, 4>;
    if (vectors == 3) return tile<kRows, 3>;
  }
  return vectors == 2 ? tile<kRows, 2> : tile<kRows, 1>;
}

/// Requires: 1 <= rows <= kTileRows, 1 <= vectors <= kTileVectors.
SLUICE_CPU_INLINE TileFunction find_tile(std::int64_t rows, int vectors) {
  static_assert(kTileRows == 6);
  switch (rows) {
    case 1: return tile_of<1>(vectors);
    case 2: return tile_of<2>(vectors);
    case 3: return tile_of<3>(vectors);
    case 4: return tile_of<4>(vectors);
    case 5: return tile_of<5>(vectors);
    default: return tile_of<6>(vectors);
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
