#pragma once

// The right instance of gemm_tile.h for a size known at run time.

#include "kernels/matrix/gemm_tile.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

template <int kRows, typename B>
SLUICE_CPU_INLINE TileFunction tile_of(int vectors) {
  if constexpr (kTileVectors == 4) {
    if (vectors == 4) return tile<kRows, 4, B>;
    if (vectors == 3) return tile<kRows, 3, B>;
  }
  return vectors == 2 ? tile<kRows, 2, B> : tile<kRows, 1, B>;
}

/// `B` says which of TileArgs' two is read. Requires: 1 <= rows <= kTileRows, 1 <= vectors <=
/// kTileVectors.
template <typename B = float>
SLUICE_CPU_INLINE TileFunction find_tile(std::int64_t rows, int vectors) {
  static_assert(kTileRows == 6);
  switch (rows) {
    case 1: return tile_of<1, B>(vectors);
    case 2: return tile_of<2, B>(vectors);
    case 3: return tile_of<3, B>(vectors);
    case 4: return tile_of<4, B>(vectors);
    case 5: return tile_of<5, B>(vectors);
    default: return tile_of<6, B>(vectors);
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
