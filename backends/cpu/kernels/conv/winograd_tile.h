#pragma once

#include <cstdint>

#include "core/isa.h"
#include "kernels/conv/conv_tile.h"

namespace sluice::cpu {

// Winograd's F(4x4, 3x3): 16 outputs of a 3x3 convolution by 36 products instead of 144 (Lavin and
// Gray, "Fast Algorithms for Convolutional Neural Networks", 2015, with their matrices). An output
// tile of 4x4 pixels needs an input patch of 6x6; both are transformed, 16 channels at a time, into
// and out of 36 positions, at each of which a product over the channels is summed. F(2x2, 3x3) has
// tiles of 2x2 pixels, patches of 4x4 and 16 products instead of 36.

/// Output pixels of a tile along an axis.
enum class WinogradTile : std::uint8_t { kTwo = 2, kFour = 4 };

constexpr int pixels_of(WinogradTile tile) { return static_cast<int>(tile); }
/// Input pixels along an axis.
constexpr int patch_of(WinogradTile tile) { return pixels_of(tile) + 2; }
constexpr int positions_of(WinogradTile tile) { return patch_of(tile) * patch_of(tile); }

/// The input transform of a patch of 16 channels. Distances are in floats.
struct WinogradInput {
  WinogradTile tile = WinogradTile::kFour;
  const float* input = nullptr;  ///< the patch's first pixel, which may lie outside
  std::int64_t row = 0;          ///< from one row of the input to the next
  float* output = nullptr;       ///< 16 channels at position 0
  std::int64_t position = 0;     ///< from one position to the next
  // Rows and columns of the patch that the input has, [begin, end); the others are zeros.
  int row_begin = 0, row_end = 0;
  int col_begin = 0, col_end = 0;
};

/// The output transform from the sums at all positions to a tile of 16 channels.
struct WinogradOutput {
  WinogradTile tile = WinogradTile::kFour;
  const float* sums = nullptr;
  std::int64_t position = 0;
  const float* scales = nullptr;    ///< of the sums, [position][16 channels]; null: ones
  const float* bias = nullptr;      ///< of the 16 channels
  const float* residual = nullptr;  ///< addressed as `output` is; null: none
  float* output = nullptr;
  std::int64_t row = 0;
  int rows = 0, cols = 0;  ///< of the tile that the output has
  Bounds bounds;
};

SLUICE_CPU_EACH_ISA(void winograd_input(const WinogradInput& patch);
                    void winograd_output(const WinogradOutput& tile);)

}  // namespace sluice::cpu
