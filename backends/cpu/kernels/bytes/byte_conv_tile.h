#pragma once

#include <cstdint>

#include "core/isa.h"
#include "kernels/bytes/byte_product.h"

namespace sluice::cpu {

// Convolution in 8 bits. With bytes x without sign and w with sign,
//
//     v(pixel, c) = scale(c) * (start(c) + sum over runs of x * w) + bias(c) + residual(pixel, c)
//
// where the sum is exact, in 32 bits, and start(c) takes the zero point of x off. Results are cut
// to [low, high]; as bytes they are rounded, half to even, and the zero point of the result is
// added.

inline constexpr std::int32_t kPadding = -1;  ///< the offset of a pixel outside the image

/// What is done to the sums of a tile.
struct ByteFinish {
  float low = 0;
  float high = 0;
  /// Bounds of what the residual is added to.
  float own_low = -__builtin_inff();
  float own_high = __builtin_inff();
  /// At most one; it lies as the output does.
  const std::uint8_t* residual_bytes = nullptr;
  const float* residual_floats = nullptr;
  float residual_scale = 1;
  /// One of them.
  std::uint8_t* output_bytes = nullptr;
  float* output_floats = nullptr;
  std::int32_t output_zero = 0;  ///< of bytes
};

/// Some pixels by one panel of output channels. A run is a contiguous part of the window, for
/// example the blocks of 16 channels under a tap; it has `groups` groups of four bytes.
struct ByteConvTile : ByteFinish {
  const std::uint8_t* input = nullptr;
  const std::int32_t* offsets = nullptr;  ///< [runs][offset_row]: numbers, or kPadding
  std::int64_t offset_row = 0;
  const std::uint8_t* padding = nullptr;  ///< [groups * 4] zero points
  std::int64_t runs = 0;
  std::int64_t blocks = 0;               ///< per run
  std::int64_t block_step = 0;           ///< numbers of the input from a block to the next
  std::int64_t groups = 0;               ///< per block
  const std::int8_t* weights = nullptr;  ///< [runs][blocks][groups][width][4]
  const std::int32_t* starts = nullptr;  ///< [width], as are the next two
  const float* scales = nullptr;
  const float* biases = nullptr;
  /// The output is [block of 16 channels][pixel][16]: elements from a block to the next.
  std::int64_t output_block = 0;
};

using ByteConvTileKernel = void (*)(const ByteConvTile&);

/// The micro-kernels of one instruction set.
struct ByteConvTileSet {
  int pixels = 0;  ///< most of a tile
  int blocks = 0;  ///< of 16 output channels, of a panel; its width is 16 times as many
  /// Requires: 1 <= pixels, blocks <= the limits above. The weights are a narrow panel
  /// (kernels/bytes/byte_product.h) if `is_narrow`.
  ByteConvTileKernel (*find)(int pixels, int blocks, bool is_narrow) = nullptr;
  /// Whether kernels of narrow panels are others. Then those of other panels read input, padding
  /// and weights in the form of kernels/bytes/wide_bytes.h.
  bool knows_narrow = false;
};

SLUICE_CPU_EACH_ISA(extern const ByteConvTileSet kByteConvTiles;
                    /// Joins planes, 1 to 4 of them and `plane` bytes apart: channels side by side.
                    void join_planes(const std::uint8_t* planes, std::int64_t plane, int channels,
                                     std::int64_t count, std::uint8_t* pixels);)

#if defined(__x86_64__)
namespace avx512vnni {
extern const ByteConvTileSet kByteConvTiles;
}
#endif

}  // namespace sluice::cpu
