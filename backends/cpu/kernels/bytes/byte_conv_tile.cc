#include "kernels/bytes/byte_conv_tile.h"

#include "kernels/bytes/byte_finish.h"
#include "kernels/bytes/four_bytes.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

// As many pixels as registers allow: sums, the weights of a group, and one pixel.
//
//     VNNI     6 * 4 sums + 4 weights + 1 pixel        = 29 of 32
//     AVX-512  5 * 4 sums + 4 * 2 weights + 2 halves   = 30 of 32
//     AVX2     4 * 2 sums + 2 * 2 weights + 2 halves   = 14 of 16
//
// Without VNNI four bytes that are not narrow are two vectors of 16-bit numbers, see four_bytes.h.
#if defined(__AVX512VNNI__)
constexpr int kPixels = 6;
#elif defined(__AVX512F__)
constexpr int kPixels = 5;
#elif defined(__AVX2__)
constexpr int kPixels = 4;
#else
constexpr int kPixels = 2;
#endif
constexpr int kBlockLanes = 16;
constexpr int kVectorsPerBlock = kBlockLanes / kLanes;
constexpr int kBlocks = kVectorRegisters == 32 ? 4 : 1;
constexpr int kWidth = kBlocks * kBlockLanes;

/// Prefetches the residual of the next tile, which follows this tile's residual.
template <int kCount, int kUsedBlocks>
SLUICE_CPU_INLINE void fetch_residual(const ByteConvTile& t) {
  constexpr int kElements = kCount * kBlockLanes;
  SLUICE_CPU_UNROLL
  for (int block = 0; block < kUsedBlocks; ++block) {
    const std::int64_t at = block * t.output_block + kElements;
    if (t.residual_bytes != nullptr) {
      prefetch(t.residual_bytes + at);
      prefetch(t.residual_bytes + at + kElements - 1);
    } else if (t.residual_floats != nullptr) {
      for (int i = 0; i < kElements; i += kBlockLanes) prefetch(t.residual_floats + at + i);
    }
  }
}

/// Sums stay in registers for all runs. A group loads its weights once for all pixels of the tile.
template <int kCount, int kUsedBlocks, typename Products>
void conv_tile(const ByteConvTile& t) {
  constexpr int kUsed = kUsedBlocks * kVectorsPerBlock;
  fetch_residual<kCount, kUsedBlocks>(t);
  VecI sums[kCount][kUsed];
  SLUICE_CPU_UNROLL
  for (int v = 0; v < kUsed; ++v) {
    const VecI start = load_int(t.starts + v * kLanes);
    SLUICE_CPU_UNROLL
    for (int i = 0; i < kCount; ++i) sums[i][v] = start;
  }
  constexpr int kGroupBytes = kByteGroup * Products::kBytes;
  const std::int8_t* w = t.weights;
  for (std::int64_t run = 0; run < t.runs; ++run) {
    const std::uint8_t* x[kCount];
    std::int64_t steps[kCount];
    SLUICE_CPU_UNROLL
    for (int i = 0; i < kCount; ++i) {
      const std::int32_t offset = t.offsets[run * t.offset_row + i];
      // All blocks of a pixel in the padding are the same block of zero points.
      x[i] = offset == kPadding ? t.padding : t.input + std::int64_t{offset} * Products::kBytes;
      steps[i] = offset == kPadding ? 0 : t.block_step * Products::kBytes;
    }
    for (std::int64_t block = 0; block < t.blocks; ++block) {
      for (std::int64_t g = 0; g < t.groups; ++g, w += kWidth * kGroupBytes) {
        typename Products::Bytes weights[kUsed];
        SLUICE_CPU_UNROLL
        for (int v = 0; v < kUsed; ++v) {
          weights[v] = Products::right(w + v * kLanes * kGroupBytes);
        }
        SLUICE_CPU_UNROLL
        for (int i = 0; i < kCount; ++i) {
          const auto pixel = Products::left(x[i] + g * kGroupBytes);
          SLUICE_CPU_UNROLL
          for (int v = 0; v < kUsed; ++v) sums[i][v] = Products::add(sums[i][v], pixel, weights[v]);
        }
      }
      SLUICE_CPU_UNROLL
      for (int i = 0; i < kCount; ++i) x[i] += steps[i];
    }
  }
  SLUICE_CPU_UNROLL
  for (int v = 0; v < kUsed; ++v) {
    const Vec scale = load(t.scales + v * kLanes);
    const Vec bias = load(t.biases + v * kLanes);
    const std::int64_t at = v / kVectorsPerBlock * t.output_block + v % kVectorsPerBlock * kLanes;
    SLUICE_CPU_UNROLL
    for (int i = 0; i < kCount; ++i) {
      const Vec sum = __builtin_convertvector(sums[i][v], Vec);
      finish_bytes(t, sum, scale, bias, at + i * kBlockLanes);
    }
  }
}

template <int kCount, typename Products>
ByteConvTileKernel tile_of(int blocks) {
  if constexpr (kBlocks == 4) {
    if (blocks == 4) return conv_tile<kCount, 4, Products>;
    if (blocks == 3) return conv_tile<kCount, 3, Products>;
    if (blocks == 2) return conv_tile<kCount, 2, Products>;
  }
  return conv_tile<kCount, 1, Products>;
}

template <typename Products, int kCount = kPixels>
ByteConvTileKernel find_of(int pixels, int blocks) {
  if constexpr (kCount > 1) {
    if (pixels < kCount) return find_of<Products, kCount - 1>(pixels, blocks);
  }
  return tile_of<kCount, Products>(blocks);
}

template <int kChannels>
SLUICE_CPU_INLINE void join(const std::uint8_t* planes, std::int64_t plane, std::int64_t count,
                            std::uint8_t* pixels) {
  for (std::int64_t i = 0; i < count; ++i) {
    for (int c = 0; c < kChannels; ++c) pixels[i * kChannels + c] = planes[c * plane + i];
  }
}

ByteConvTileKernel find(int pixels, int blocks, bool is_narrow) {
  return is_narrow ? find_of<NarrowBytes>(pixels, blocks) : find_of<WideBytes>(pixels, blocks);
}

}  // namespace

extern const ByteConvTileSet kByteConvTiles;
const ByteConvTileSet kByteConvTiles = {kPixels, kBlocks, find, kNarrowIsFaster};

#if !defined(__AVX512VNNI__)

void join_planes(const std::uint8_t* planes, std::int64_t plane, int channels, std::int64_t count,
                 std::uint8_t* pixels) {
  switch (channels) {
    case 1: return join<1>(planes, plane, count, pixels);
    case 2: return join<2>(planes, plane, count, pixels);
    case 3: return join<3>(planes, plane, count, pixels);
    default: return join<4>(planes, plane, count, pixels);
  }
}

#endif

}  // namespace sluice::cpu::SLUICE_CPU_ISA
