#pragma once

#include <cstdint>

namespace sluice::cpu {

// Block sizes of convolutions. The defaults were the fastest measured; another machine, or other
// data in the caches, may need others (see ops/conv/conv_tactics.h). No size changes the result or
// the form of packed weights.

/// What the workers of a group divide among themselves.
enum class Division : std::uint8_t {
  kByCost,    ///< the division with the least cost of the busiest worker
  kRows,      ///< of the output
  kChannels,  ///< of the output, and with them the weights
};

/// Blocks of a direct convolution.
struct ConvBlocks {
  /// Bytes of input that a band may have, copied or in place: the panels' weights pass through L2
  /// beside it, once per band.
  std::int64_t strip_bytes = 512 << 10;
  std::int64_t band_bytes = 256 << 10;
  /// Bytes of weights that a pass over the band may have: a small part of L2, beside the band.
  std::int64_t pass_bytes = 96 << 10;
  Division division = Division::kByCost;
};

/// Blocks of a convolution by Winograd's method.
struct WinogradBlocks {
  /// Tiles of a band: enough that the weights of a position, read once per band, cost less than the
  /// products with them, and few enough that both transforms stay in L2.
  std::int64_t band_tiles = 28;
  std::int64_t band_bytes = 768 << 10;
  Division division = Division::kByCost;
};

/// Blocks of a depthwise convolution.
struct DepthwiseBlocks {
  /// Limits tiles to `1 / narrower` of their largest number of pixels.
  std::int64_t narrower = 1;
  /// Computes pixel by pixel even if there is a kernel that loads each input once.
  bool plain = false;
};

/// Blocks of a convolution in bytes.
struct ByteConvBlocks {
  /// Bytes of input, and of the table of offsets, per block of pixels: both stay in L2.
  std::int64_t input_bytes = 384 << 10;
  std::int64_t table_bytes = 64 << 10;
  std::int64_t pixels = 1024;
  Division division = Division::kByCost;
};

}  // namespace sluice::cpu
