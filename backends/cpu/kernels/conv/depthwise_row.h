#pragma once

// Parts that micro-kernels of depthwise convolutions share for all pixel types.

#include "core/simd.h"
#include "kernels/conv/conv_tile.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

/// Adds one kernel row to the sums of kCols output pixels: every input pixel is loaded once and
/// added to all its sums. `pixel(i)` loads input column i; only columns of [first_column,
/// end_column) exist. Weights are [kKernel][16].
template <int kKernel, int kStride, int kCols, typename Pixel>
SLUICE_CPU_INLINE void add_depthwise_row(int first_column, int end_column, const Pixel& pixel,
                                         const float* w, Vec* sums) {
  constexpr int kColumns = (kCols - 1) * kStride + kKernel;
  Vec weights[kKernel];
#pragma GCC unroll 8
  for (int k = 0; k < kKernel; ++k) weights[k] = load(w + k * kBlock);
#pragma GCC unroll 40
  for (int i = 0; i < kColumns; ++i) {
    if (i < kKernel - 1 && i < first_column) continue;
    if (i > (kCols - 1) * kStride && i >= end_column) continue;
    const Vec value = pixel(i);
#pragma GCC unroll 8
    for (int k = 0; k < kKernel; ++k) {
      const int position = i - k;
      if (position < 0 || position % kStride != 0 || position / kStride >= kCols) continue;
      Vec& sum = sums[position / kStride];
      sum = fmadd(value, weights[k], sum);
    }
  }
}

/// The kernel `Pixels::run<kernel columns, stride, output pixels>` of a shape: 3, 5 or 7 columns,
/// stride 1 or 2, 1 to Pixels::kMaxCols pixels; null for
/// others.
template <typename Pixels, int kKernel, int kStride, int kCols>
typename Pixels::Kernel find_depthwise_cols(int cols) {
  if constexpr (kCols == 0) {
    return nullptr;
  } else {
    if (cols == kCols) return &Pixels::template run<kKernel, kStride, kCols>;
    return find_depthwise_cols<Pixels, kKernel, kStride, kCols - 1>(cols);
  }
}

template <typename Pixels, int kKernel>
typename Pixels::Kernel find_depthwise_stride(int stride, int cols) {
  if (stride == 1) return find_depthwise_cols<Pixels, kKernel, 1, Pixels::kMaxCols>(cols);
  if (stride == 2) return find_depthwise_cols<Pixels, kKernel, 2, Pixels::kMaxCols>(cols);
  return nullptr;
}

template <typename Pixels>
typename Pixels::Kernel find_depthwise(int kernel_cols, int stride, int cols) {
  if (kernel_cols == 3) return find_depthwise_stride<Pixels, 3>(stride, cols);
  if (kernel_cols == 5) return find_depthwise_stride<Pixels, 5>(stride, cols);
  if (kernel_cols == 7) return find_depthwise_stride<Pixels, 7>(stride, cols);
  return nullptr;
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
