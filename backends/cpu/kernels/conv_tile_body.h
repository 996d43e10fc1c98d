#pragma once

// The convolution micro-kernel, a template over the shape of its tile. Included by the sources that
// instantiate it, once per instruction set.

#include "kernels/conv_tile.h"
#include "simd.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

inline constexpr int kVectorsPerBlock = kBlock / kLanes;

/// Channels of a wide panel: two vectors where they are 16 wide.
inline constexpr int kPanel = kLanes == 16 ? 32 : kBlock;

/// Pixels of the largest tile with `vectors` vectors of output channels: what fits in the registers
/// beside the weights and one broadcast input; with one vector fewer, which was measured to be
/// faster.
constexpr int most_pixels(int vectors) {
  const int for_sums = kVectorRegisters - (vectors == 1 ? 4 : vectors + 1);
  const int most = vectors == 1 ? 16 : 28 / vectors;
  const int pixels = for_sums / vectors;
  return pixels < most ? pixels : most;
}

/// Of a tile with a wide panel that sums few products: see ConvTileSet.
inline constexpr int kShortPixels = kVectorRegisters == 32 ? 10 : most_pixels(kPanel / kLanes);

/// sum += a * b. With more than one vector of sums per input value, the compiler is told in so many
/// words to keep each sum in its register; left alone, it swaps them around and runs out. With one,
/// it may fold the broadcast into the instruction.
template <int kVectors>
SLUICE_CPU_INLINE void accumulate(Vec& sum, Vec a, Vec b) {
#if defined(__AVX512F__)
  if constexpr (kVectors > 1) {
    asm("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
    return;
  }
#endif
  sum = fmadd(a, b, sum);
}

/// The same for the first half of the lanes, where that takes half the time; the other sums become
/// zero.
SLUICE_CPU_INLINE void accumulate_half(Vec& sum, Vec a, Vec b) {
#if defined(__AVX512F__)
  asm("vfmadd231ps %t2, %t1, %t0" : "+v"(sum) : "v"(a), "v"(b));
#else
  sum = fmadd(a, b, sum);
#endif
}

/// Pixel distance of the input: 16 floats in c16, 1 in planes. With `kHalf` the panel's last 8
/// channels do not exist and are left out: whole vectors of them, or half of the last one.
template <int kRows, int kCols, int kPanelVectors, ConvInput kInput, bool kHalf>
struct ConvTileBody {
  static constexpr int kPixel = kInput == ConvInput::kBlocked ? kBlock : 1;
  static constexpr int kVectors = kHalf ? kPanelVectors - kVectorsPerBlock / 2 : kPanelVectors;
  static constexpr bool kHalfVector = kHalf && kVectors == kPanelVectors;

  static constexpr int kUnroll = 2;

  Vec sums[kRows][kCols][kVectors];

  /// Distances of the output, in registers: stores to it might change the tile for all that the
  /// compiler knows, which then reads the tile again after each.
  struct Output {
    __attribute__((always_inline)) explicit Output(const ConvTile& t)
        : row(t.output_row), block(t.output_block) {}

    __attribute__((always_inline)) std::int64_t offset(int r, int c, int v) const {
      return r * row + (v / kVectorsPerBlock) * block + c * kBlock +
             (v % kVectorsPerBlock) * kLanes;
    }

    std::int64_t row;
    std::int64_t block;
  };

  __attribute__((always_inline)) void start(const ConvTile& t) {
    const float* base = t.bias != nullptr ? t.residual : t.output;
    const Output at(t);
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const Vec bias = t.bias != nullptr ? load(t.bias + v * kLanes) : Vec{};
#pragma GCC unroll 2
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 28
        for (int c = 0; c < kCols; ++c) sums[r][c][v] = bias;
      }
    }
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 28
      for (int c = 0; c < kCols; ++c) {
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; v += kVectorsPerBlock) {
          prefetch(t.next_output + at.offset(r, c, v));
        }
      }
    }
    if (base == nullptr) return;
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 28
      for (int c = 0; c < kCols; ++c) {
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) sums[r][c][v] += load(base + at.offset(r, c, v));
      }
    }
  }

  /// One input channel at one tap.
  __attribute__((always_inline)) void step(const float* x, std::int64_t input_row, const float* w) {
    Vec weights[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) weights[v] = load(w + v * kLanes);
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r) {
      const float* row = x + r * input_row;
#pragma GCC unroll 28
      for (int c = 0; c < kCols; ++c) {
        const Vec value = broadcast(row[c * kPixel]);
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) {
          if (kHalfVector && v + 1 == kVectors) {
            accumulate_half(sums[r][c][v], value, weights[v]);
          } else {
            accumulate<kVectors>(sums[r][c][v], value, weights[v]);
          }
        }
      }
    }
  }

  __attribute__((always_inline)) void sum(const ConvTile& t) {
    const float* w = t.weights;
    const float* ahead = t.next_weights;
    const std::int64_t ahead_step = t.next_weights_step;
    const float* block = t.input;
    for (std::int32_t b = 0; b < t.blocks; ++b) {
      const float* next_block = b + 1 < t.blocks ? block + t.block_stride : t.next_input;
      const std::int32_t channels =
          kInput == ConvInput::kPlanes ? 1 : (b + 1 < t.blocks ? kBlock : t.last_channels);
      for (std::int32_t tap = 0; tap < t.tap_count; ++tap) {
        const float* x = block + t.taps[tap];
        const float* next_x = next_block + t.taps[tap];
        std::int32_t k = 0;
        if constexpr (kInput == ConvInput::kBlocked) {
          for (; k + kUnroll <= channels; k += kUnroll) {
#pragma GCC unroll 8
            for (int u = 0; u < kUnroll; ++u) {
              prefetch_to_l2(ahead);
              ahead += ahead_step;
              prefetch(next_x + u * 16);
              step(x + k + u, t.input_row, w + u * kPanelVectors * kLanes);
              asm volatile("" ::: "memory");
            }
            next_x += 16 * kUnroll;
            w += kPanelVectors * kLanes * kUnroll;
          }
        }
#pragma GCC unroll 1
        for (; k < channels; ++k) {
          prefetch_to_l2(ahead);
          ahead += ahead_step;
          step(x + k, t.input_row, w);
          w += kPanelVectors * kLanes;
        }
      }
      block = next_block;
    }
  }

  __attribute__((always_inline)) void activate(const ConvTile& t) {
    if (t.activation == Activation::kNone) return;
    const Vec low = broadcast(t.low);
    const Vec high = broadcast(t.high);
    const bool clip = t.activation == Activation::kClip;
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 28
      for (int c = 0; c < kCols; ++c) {
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) {
          Vec& s = sums[r][c][v];
          s = max(low, s);
          if (clip) s = min(high, s);
        }
      }
    }
  }

  __attribute__((always_inline)) void finish(const ConvTile& t) {
    const Output at(t);
    float* output = t.output;
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 28
      for (int c = 0; c < kCols; ++c) {
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) {
          store(output + at.offset(r, c, v), sums[r][c][v]);
        }
      }
    }
  }
};

template <int kRows, int kCols, int kVectors, ConvInput kInput, bool kHalf>
void conv_tile(const ConvTile& t) {
  ConvTileBody<kRows, kCols, kVectors, kInput, kHalf> body;
  body.start(t);
  body.sum(t);
  body.activate(t);
  body.finish(t);
}

/// The kernel for `cols` (counting down from kCols), null when there is none.
template <int kRows, int kCols, int kVectors, ConvInput kInput, bool kHalf = false>
ConvTileKernel find_cols(int cols) {
  if constexpr (kCols == 0) {
    return nullptr;
  } else {
    if (cols == kCols) return &conv_tile<kRows, kCols, kVectors, kInput, kHalf>;
    return find_cols<kRows, kCols - 1, kVectors, kInput, kHalf>(cols);
  }
}

template <int kVectors, ConvInput kInput>
ConvTileKernel find_rows(int rows, int cols) {
  constexpr int kMost = most_pixels(kVectors);
  return rows == 1 ? find_cols<1, kMost, kVectors, kInput>(cols)
                   : find_cols<2, kMost / 2, kVectors, kInput>(cols);
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
