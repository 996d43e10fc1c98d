#pragma once

#include <cstdint>

namespace sluice::cpu {

// What plans of convolutions choose among. The defaults are the best of what was measured; another
// machine, or another neighbour in the caches, may like other sizes (see ops/conv_variants.h). None
// changes what is computed, nor how weights are packed.

/// What the workers of a group divide among themselves.
enum class Division : std::uint8_t {
  kByCost,    ///< whatever lets the busiest worker move and multiply least
  kRows,      ///< of the output
  kChannels,  ///< of the output, and with them the weights
};

/// Of a direct convolution.
struct ConvBlocks {
  /// Bytes of input that a band may have, copied or in place: the panels' weights pass through L2
  /// beside it, once per band.
  std::int64_t strip_bytes = 512 << 10;
  std::int64_t band_bytes = 256 << 10;
  /// Bytes of weights that a pass over the band may have: a small part of L2, beside the band.
  std::int64_t pass_bytes = 96 << 10;
  Division division = Division::kByCost;
};

/// Of one by Winograd's method.
struct WinogradBlocks {
  /// Tiles of a band: enough that the weights of a position, read once per band, cost less than the
  /// products with them, and few enough that both transforms stay in L2.
  std::int64_t band_tiles = 28;
  std::int64_t band_bytes = 768 << 10;
  Division division = Division::kByCost;
};

/// Of one with a filter of its own for every channel.
struct DepthwiseBlocks {
  /// Tiles have at most `1 / narrower` of the pixels that they could have.
  std::int64_t narrower = 1;
  /// Pixel by pixel, although a kernel that loads each input once is there.
  bool plain = false;
};

/// Of one in bytes.
struct ByteConvBlocks {
  /// Of the input, and of the table of offsets, per block of pixels: both stay in L2.
  std::int64_t input_bytes = 384 << 10;
  std::int64_t table_bytes = 64 << 10;
  std::int64_t pixels = 1024;
  Division division = Division::kByCost;
};

}  // namespace sluice::cpu
