#include "kernels/conv/winograd_tile.h"

#include "kernels/conv/bounded.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

constexpr int kVectors = kBlock / kLanes;

/// One axis of a patch: B^T * d.
///
///           | 4  0 -5  0  1  0 |
///           | 0 -4 -4  1  1  0 |
///     B^T = | 0  4 -4 -1  1  0 |
///           | 0 -2 -1  2  1  0 |
///           | 0  2 -1 -2  1  0 |
///           | 0  4  0 -5  0  1 |
///
/// Rows 1 and 2, and rows 3 and 4, differ in the sign of two terms, which are computed once.
SLUICE_CPU_INLINE void transform_input(const Vec (&d)[6], Vec (&t)[6]) {
  const Vec four = broadcast(4.0F);
  const Vec five = broadcast(5.0F);
  const Vec two = broadcast(2.0F);
  const Vec even = fnmadd(four, d[2], d[4]);
  const Vec odd = fnmadd(four, d[1], d[3]);
  const Vec near = d[4] - d[2];
  const Vec apart = d[3] - d[1];
  t[0] = fmadd(four, d[0], fnmadd(five, d[2], d[4]));
  t[1] = even + odd;
  t[2] = even - odd;
  t[3] = fmadd(two, apart, near);
  t[4] = fnmadd(two, apart, near);
  t[5] = fmadd(four, d[1], fnmadd(five, d[3], d[5]));
}

SLUICE_CPU_INLINE void transform_input(const Vec (&d)[4], Vec (&t)[4]) {
  t[0] = d[0] - d[2];
  t[1] = d[1] + d[2];
  t[2] = d[2] - d[1];
  t[3] = d[1] - d[3];
}

/// One axis of a tile: A^T * m.
///
///           | 1  1  1  1  1  0 |
///     A^T = | 0  1 -1  2 -2  0 |
///           | 0  1  1  4  4  0 |
///           | 0  1 -1  8 -8  1 |
SLUICE_CPU_INLINE void transform_output(const Vec (&m)[6], Vec (&t)[4]) {
  const Vec near_sum = m[1] + m[2];
  const Vec near_difference = m[1] - m[2];
  const Vec far_sum = m[3] + m[4];
  const Vec far_difference = m[3] - m[4];
  t[0] = m[0] + near_sum + far_sum;
  t[1] = fmadd(broadcast(2.0F), far_difference, near_difference);
  t[2] = fmadd(broadcast(4.0F), far_sum, near_sum);
  t[3] = fmadd(broadcast(8.0F), far_difference, near_difference) + m[5];
}

SLUICE_CPU_INLINE void transform_output(const Vec (&m)[4], Vec (&t)[2]) {
  t[0] = m[0] + m[1] + m[2];
  t[1] = m[1] - m[2] - m[3];
}

/// B^T d B: first each column, then each row of what results. Lanes are channels.
template <int kPatch>
SLUICE_CPU_INLINE void transform_patch(const float* input, std::int64_t row, float* output,
                                       std::int64_t position) {
  for (int v = 0; v < kVectors; ++v) {
    Vec half[kPatch][kPatch];  // [row after the transform][column]
    SLUICE_CPU_UNROLL
    for (int c = 0; c < kPatch; ++c) {
      Vec column[kPatch];
      Vec transformed[kPatch];
      SLUICE_CPU_UNROLL
      for (int r = 0; r < kPatch; ++r) column[r] = load(input + r * row + c * kBlock + v * kLanes);
      transform_input(column, transformed);
      SLUICE_CPU_UNROLL
      for (int r = 0; r < kPatch; ++r) half[r][c] = transformed[r];
    }
    SLUICE_CPU_UNROLL
    for (int r = 0; r < kPatch; ++r) {
      Vec transformed[kPatch];
      transform_input(half[r], transformed);
      SLUICE_CPU_UNROLL
      for (int c = 0; c < kPatch; ++c) {
        store(output + (r * kPatch + c) * position + v * kLanes, transformed[c]);
      }
    }
  }
}

template <int kPatch>
SLUICE_CPU_INLINE void take_patch(const WinogradInput& p) {
  const bool has_rows = p.row_begin == 0 && p.row_end == kPatch;
  if (has_rows && p.col_begin == 0 && p.col_end == kPatch) {
    return transform_patch<kPatch>(p.input, p.row, p.output, p.position);
  }
  // At the border: a copy of the patch with zeros in place of pixels that the image lacks.
  constexpr int kRow = kPatch * kBlock;
  float patch[kPatch * kRow];
  for (float& x : patch) x = 0;
  for (int r = p.row_begin; r < p.row_end; ++r) {
    __builtin_memcpy(patch + r * kRow + p.col_begin * kBlock,
                     p.input + r * p.row + p.col_begin * kBlock,
                     static_cast<std::size_t>(p.col_end - p.col_begin) * kBlock * sizeof(float));
  }
  transform_patch<kPatch>(patch, kRow, p.output, p.position);
}

/// A^T m A, then bias, residual and bounds. Only the pixels that the output has are written.
template <int kTile, bool kScaled>
SLUICE_CPU_INLINE void give_tile(const WinogradOutput& t) {
  constexpr int kPatch = kTile + 2;
  for (int v = 0; v < kVectors; ++v) {
    Vec half[kTile][kPatch];
    SLUICE_CPU_UNROLL
    for (int c = 0; c < kPatch; ++c) {
      Vec column[kPatch];
      Vec transformed[kTile];
      SLUICE_CPU_UNROLL
      for (int r = 0; r < kPatch; ++r) {
        const int at = r * kPatch + c;
        column[r] = load(t.sums + at * t.position + v * kLanes);
        if constexpr (kScaled) column[r] *= load(t.scales + at * kBlock + v * kLanes);
      }
      transform_output(column, transformed);
      SLUICE_CPU_UNROLL
      for (int r = 0; r < kTile; ++r) half[r][c] = transformed[r];
    }
    const Vec bias = load(t.bias + v * kLanes);
    for (int r = 0; r < t.rows; ++r) {
      Vec pixels[kTile];
      transform_output(half[r], pixels);
      const std::int64_t at = r * t.row + v * kLanes;
      for (int c = 0; c < t.cols; ++c) {
        Vec x = pixels[c] + bias;
        if (t.residual != nullptr) x += load(t.residual + at + c * kBlock);
        store(t.output + at + c * kBlock, bounded(x, t.bounds));
      }
    }
  }
}

}  // namespace

void winograd_input(const WinogradInput& patch) {
  return patch.tile == WinogradTile::kTwo ? take_patch<4>(patch) : take_patch<6>(patch);
}

void winograd_output(const WinogradOutput& tile) {
  const bool two = tile.tile == WinogradTile::kTwo;
  if (tile.scales != nullptr) return two ? give_tile<2, true>(tile) : give_tile<4, true>(tile);
  return two ? give_tile<2, false>(tile) : give_tile<4, false>(tile);
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
