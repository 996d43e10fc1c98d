#include "kernels/conv_tile_body.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

ConvTileKernel find_blocked_tile(int rows, int cols, int panel) {
  if (panel == kBlock) return find_rows<kBlock / kLanes, ConvInput::kBlocked>(rows, cols);
  return find_rows<kPanel / kLanes, ConvInput::kBlocked>(rows, cols);
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
