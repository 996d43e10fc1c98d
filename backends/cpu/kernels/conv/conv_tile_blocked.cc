#include "kernels/conv/conv_tile_body.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

ConvTileKernel find_blocked_tile(int rows, int cols, int panel) {
  if (panel == kBlock) return find_rows<kBlock / kLanes, ConvInput::kBlocked>(rows, cols);
  return find_rows<kPanel / kLanes, ConvInput::kBlocked>(rows, cols);
}

ConvTileKernel find_half_tile(int cols, int panel) {
  constexpr int kWide = kPanel / kLanes;
  constexpr int kNarrow = kBlock / kLanes;
  constexpr ConvInput kBlocked = ConvInput::kBlocked;
  if (panel == kBlock) return find_cols<1, max_pixels(kNarrow), kNarrow, kBlocked, true>(cols);
  return find_cols<1, max_pixels(kWide), kWide, kBlocked, true>(cols);
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
