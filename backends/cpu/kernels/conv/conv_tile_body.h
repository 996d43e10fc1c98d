#pragma once

// The convolution micro-kernel, a template over the shape of its tile. Included by the sources that
// instantiate it, once per instruction set.

#include "kernels/conv/bounded.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

inline constexpr int kVectorsPerBlock = kBlock / kLanes;

/// Channels of a wide panel: two vectors where they are 16 wide.
inline constexpr int kPanel = kLanes == 16 ? 32 : kBlock;

/// Pixels of the largest tile with `vectors` vectors of output channels: what fits in the registers
/// beside the weights and one broadcast input. With one vector, more than 16 gain nothing, and rows
/// of pixels are cut into less even parts.
constexpr int max_pixels(int vectors) {
  const int for_sums = kVectorRegisters - (vectors == 1 ? 4 : vectors + 1);
  const int most = vectors == 1 ? 16 : 28 / vectors;
  const int pixels = for_sums / vectors;
  return pixels < most ? pixels : most;
}

/// sum += value * weights for each vector of sums of a pixel, in the last one for its first half
/// alone where that takes half the time; the other sums become zero. With more than one vector,
/// inline assembly pins each sum to its register; otherwise the compiler moves sums between
/// registers and spills.
///
/// `kFolded`: each instruction reads and broadcasts the value, instead of one broadcast before
/// them. A Zen 4 broadcasts to a register on a pipe that also computes, but a broadcast inside a
/// multiply-add needs no pipe. Alternating both kinds of pixels balances this pipe and the loads.
template <int kVectors, bool kHalfVector, bool kFolded>
SLUICE_CPU_INLINE void accumulate(Vec (&sums)[kVectors], const float* value,
                                  const Vec (&weights)[kVectors]) {
#if defined(__AVX512F__)
  if constexpr (kVectors > 1 || kHalfVector) {
    constexpr int kWhole = kVectors - (kHalfVector ? 1 : 0);
    constexpr int kLast = kVectors - 1;
    if constexpr (kFolded) {
#pragma GCC unroll 8
      for (int v = 0; v < kWhole; ++v) {
        asm("vfmadd231ps %2%{1to16%}, %1, %0" : "+v"(sums[v]) : "v"(weights[v]), "m"(*value));
      }
      if constexpr (kHalfVector) {
        asm("vfmadd231ps %2%{1to8%}, %t1, %t0"
            : "+v"(sums[kLast])
            : "v"(weights[kLast]), "m"(*value));
      }
    } else {
      const Vec all = broadcast(*value);
#pragma GCC unroll 8
      for (int v = 0; v < kWhole; ++v) {
        asm("vfmadd231ps %2, %1, %0" : "+v"(sums[v]) : "v"(all), "v"(weights[v]));
      }
      if constexpr (kHalfVector) {
        asm("vfmadd231ps %t2, %t1, %t0" : "+v"(sums[kLast]) : "v"(all), "v"(weights[kLast]));
      }
    }
    return;
  }
#endif
  const Vec all = broadcast(*value);
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) sums[v] = fmadd(all, weights[v], sums[v]);
}

/// Pixel distance of the input: 16 floats in c16, 1 in planes. With `kHalf` the panel's last 8
/// channels do not exist and are left out: whole vectors of them, or half of the last one.
template <int kRows, int kCols, int kPanelVectors, ConvInput kInput, bool kHalf>
struct ConvTileBody {
  static constexpr bool kBlocks = kInput == ConvInput::kBlocked;
  static constexpr int kPixel = kBlocks ? kBlock : 1;
  static constexpr int kVectors = kHalf ? kPanelVectors - kVectorsPerBlock / 2 : kPanelVectors;
  static constexpr bool kHalfVector = kHalf && kVectors == kPanelVectors;

  static constexpr int kUnroll = 2;
  /// Steps beside which sums are stored. Narrower vectors leave in one cycle: none.
  static constexpr int kTail = kLanes == 16 ? 4 : 0;
  /// Pixels.
  static constexpr int kStoredAtOnce =
      kTail == 0 ? kRows * kCols : (kVectors < 8 ? 8 / kVectors : 1);

  Vec sums[kRows][kCols][kVectors];

  /// Distances of the output, copied to registers: the compiler assumes that a store may change the
  /// tile, and would read the tile again after each store.
  struct Output {
    __attribute__((always_inline)) explicit Output(const ConvTile& t)
        : output(t.output), row(t.output_row), block(t.output_block) {}

    __attribute__((always_inline)) std::int64_t offset(int r, int c, int v) const {
      return r * row + (v / kVectorsPerBlock) * block + c * kBlock +
             (v % kVectorsPerBlock) * kLanes;
    }

    float* output;
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

  /// One input channel at one tap, for `kCount` pixels of the tile from `kFirst` on.
  template <int kFirst = 0, int kCount = kRows* kCols>
  __attribute__((always_inline)) void step(const float* x, std::int64_t input_row, const float* w) {
    Vec weights[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) weights[v] = load(w + v * kLanes);
    each_pixel<kFirst, kCount>(x, input_row, weights);
  }

  template <int kFirst, int kCount>
  __attribute__((always_inline)) void each_pixel(const float* x, std::int64_t input_row,
                                                 const Vec (&weights)[kVectors]) {
    if constexpr (kCount > 0) {
      constexpr int kRow = kFirst / kCols;
      constexpr int kCol = kFirst % kCols;
      accumulate<kVectors, kHalfVector, kFirst % 2 == 1>(
          sums[kRow][kCol], x + kRow * input_row + kCol * kPixel, weights);
      each_pixel<kFirst + 1, kCount - 1>(x, input_row, weights);
    }
  }

  /// The steps of the last block that `sum` leaves for `finish`: its last channels, in planes its
  /// last taps.
  struct Tail {
    __attribute__((always_inline)) explicit Tail(const ConvTile& t) {
      const std::int64_t last_block = t.blocks - 1;
      const std::int64_t last_tap = t.tap_count - 1;
      const std::int64_t channels = t.last_channels - kTail;
      const std::int64_t before =
          (kBlocks ? last_block * kBlock + t.last_channels : last_block + 1) * t.tap_count - kTail;
      x = t.input + last_block * t.block_stride;
      if (kBlocks) x += t.taps[last_tap] + channels;
      next_x = t.next_input + t.taps[last_tap] + channels * 16;
      w = t.weights + before * kPanelVectors * kLanes + last_block * t.weights_skip;
      ahead = t.next_weights + before * t.next_weights_step;
    }

    __attribute__((always_inline)) static bool exists(const ConvTile& t) {
      return kTail > 0 && (kBlocks ? t.last_channels : t.tap_count) >= kTail;
    }

    const float* x;       ///< of its first step; in planes of the last block's first pixel
    const float* next_x;  ///< for input in blocks
    const float* w;
    const float* ahead;  ///< next weights
  };

  __attribute__((always_inline)) void sum(const ConvTile& t) {
    const float* w = t.weights;
    const float* ahead = t.next_weights;
    const std::int64_t ahead_step = t.next_weights_step;
    const float* block = t.input;
    const std::int32_t tail = Tail::exists(t) ? kTail : 0;
    for (std::int32_t b = 0; b < t.blocks; ++b) {
      const bool last = b + 1 == t.blocks;
      const float* next_block = last ? t.next_input : block + t.block_stride;
      const std::int32_t taps = t.tap_count - (!kBlocks && last ? tail : 0);
      for (std::int32_t tap = 0; tap < taps; ++tap) {
        const float* x = block + t.taps[tap];
        std::int32_t channels = 1;
        if constexpr (kBlocks) {
          const float* next_x = next_block + t.taps[tap];
          channels = last ? t.last_channels : kBlock;
          if (last && tap + 1 == taps) channels -= tail;
          for (; channels >= kUnroll; channels -= kUnroll) {
#pragma GCC unroll 8
            for (int u = 0; u < kUnroll; ++u) {
              prefetch_to_l2(ahead);
              ahead += ahead_step;
              prefetch(next_x + u * 16);
              step(x + u, t.input_row, w + u * kPanelVectors * kLanes);
              asm volatile("" ::: "memory");
            }
            next_x += 16 * kUnroll;
            x += kUnroll;
            w += kPanelVectors * kLanes * kUnroll;
          }
        }
#pragma GCC unroll 1
        for (; channels > 0; --channels) {
          prefetch_to_l2(ahead);
          ahead += ahead_step;
          step(x, t.input_row, w);
          x += 1;
          w += kPanelVectors * kLanes;
        }
      }
      block = next_block;
      w += t.weights_skip;
    }
  }

  /// The last steps, activation and stores, a few pixels after the other: a processor that writes
  /// one vector in two cycles computes nothing beside a long row of stores, but beside short ones.
  template <int kSteps, int kFirst = 0>
  __attribute__((always_inline)) void finish(const ConvTile& t, const Tail& tail, Output at) {
    constexpr int kLeft = kRows * kCols - kFirst;
    constexpr int kCount = kLeft < kStoredAtOnce ? kLeft : kStoredAtOnce;
    if constexpr (kCount > 0) {
#pragma GCC unroll 8
      for (int u = 0; u < kSteps; ++u) {
        if constexpr (kFirst == 0) {
          prefetch_to_l2(tail.ahead + u * t.next_weights_step);
          if constexpr (kBlocks) prefetch(tail.next_x + u * 16);
        }
        const float* x = kBlocks ? tail.x + u : tail.x + t.taps[t.tap_count - kSteps + u];
        step<kFirst, kCount>(x, t.input_row, tail.w + u * kPanelVectors * kLanes);
        asm volatile("" ::: "memory");
      }
      const Bounds bounds = t.bounds;
#pragma GCC unroll 28
      for (int p = kFirst; p < kFirst + kCount; ++p) {
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) {
          const Vec sum = sums[p / kCols][p % kCols][v];
          store(at.output + at.offset(p / kCols, p % kCols, v), bounded(sum, bounds));
        }
      }
      finish<kSteps, kFirst + kCount>(t, tail, at);
    }
  }
};

template <int kRows, int kCols, int kVectors, ConvInput kInput, bool kHalf>
void conv_tile(const ConvTile& t) {
  using Body = ConvTileBody<kRows, kCols, kVectors, kInput, kHalf>;
  Body body;
  body.start(t);
  body.sum(t);
  const typename Body::Tail tail(t);
  const typename Body::Output at(t);
  if (Body::Tail::exists(t)) {
    body.template finish<Body::kTail>(t, tail, at);
  } else {
    body.template finish<0>(t, tail, at);
  }
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
  constexpr int kMax = max_pixels(kVectors);
  return rows == 1 ? find_cols<1, kMax, kVectors, kInput>(cols)
                   : find_cols<2, kMax / 2, kVectors, kInput>(cols);
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
