#include "kernels/conv/conv_tile_body.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

ConvTileKernel find_plane_tile(int rows, int cols, int panel) {
  if (panel == kBlock) return find_rows<kBlock / kLanes, ConvInput::kPlanes>(rows, cols);
  return find_rows<kPanel / kLanes, ConvInput::kPlanes>(rows, cols);
}

namespace {

ConvTileKernel find_tile(ConvInput input, int rows, int cols, int panel) {
  return input == ConvInput::kBlocked ? find_blocked_tile(rows, cols, panel)
                                      : find_plane_tile(rows, cols, panel);
}

}  // namespace

const ConvTileSet kConvTiles = {kPanel, max_pixels(kPanel / kLanes), max_pixels(kBlock / kLanes),
                                &find_tile, &find_half_tile};

}  // namespace sluice::cpu::SLUICE_CPU_ISA
