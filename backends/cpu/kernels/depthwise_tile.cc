#include "kernels/depthwise_tile.h"

#include "simd.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

constexpr int kMostCols = kVectorRegisters == 32 ? 14 : 8;

SLUICE_CPU_INLINE Vec activated(const DepthwiseTile& t, Vec sum) {
  if (t.activation == Activation::kNone) return sum;
  sum = max(broadcast(t.low), sum);
  return t.activation == Activation::kClip ? min(broadcast(t.high), sum) : sum;
}

/// Adds one kernel row: every input pixel is loaded once and goes to all sums that it is part of.
template <int kKernel, int kStride, int kCols>
SLUICE_CPU_INLINE void add_row(const DepthwiseTile& t, const float* x, const float* w, Vec* sums) {
  constexpr int kColumns = (kCols - 1) * kStride + kKernel;
  Vec weights[kKernel];
#pragma GCC unroll 8
  for (int k = 0; k < kKernel; ++k) weights[k] = load(w + k * kBlock);
#pragma GCC unroll 40
  for (int i = 0; i < kColumns; ++i) {
    if (i < kKernel - 1 && i < t.first_column) continue;
    if (i > (kCols - 1) * kStride && i >= t.end_column) continue;
    const Vec value = load(x + i * kBlock);
#pragma GCC unroll 8
    for (int k = 0; k < kKernel; ++k) {
      const int position = i - k;
      if (position < 0 || position % kStride != 0 || position / kStride >= kCols) continue;
      Vec& sum = sums[position / kStride];
      sum = fmadd(value, weights[k], sum);
    }
  }
}

template <int kKernel, int kStride, int kCols>
void depthwise_tile(const DepthwiseTile& t) {
  for (int lane = 0; lane < kBlock; lane += kLanes) {
    Vec sums[kCols];
    const Vec bias = load(t.bias + lane);
#pragma GCC unroll 14
    for (int c = 0; c < kCols; ++c) sums[c] = bias;
    const float* x = t.input + lane;
    const float* w = t.weights + lane;
#pragma GCC unroll 1
    for (int r = 0; r < t.rows; ++r, x += t.input_row, w += kKernel * kBlock) {
      add_row<kKernel, kStride, kCols>(t, x, w, sums);
    }
#pragma GCC unroll 14
    for (int c = 0; c < kCols; ++c) {
      if (t.residual != nullptr) sums[c] += load(t.residual + c * kBlock + lane);
      store(t.output + c * kBlock + lane, activated(t, sums[c]));
    }
  }
}

/// One pixel and lane group with whatever taps exist.
SLUICE_CPU_INLINE Vec any_pixel(const DepthwiseTile& t, int c, int lane) {
  Vec sum = load(t.bias + lane);
  for (int r = 0; r < t.rows; ++r) {
    for (int k = 0; k < t.kernel_cols; ++k) {
      const std::int64_t i =
          static_cast<std::int64_t>(c) * t.stride + static_cast<std::int64_t>(k) * t.dilation;
      if (i < t.first_column || i >= t.end_column) continue;
      const float* w = t.weights + (r * t.kernel_cols + k) * kBlock + lane;
      sum = fmadd(load(t.input + r * t.input_row + i * kBlock + lane), load(w), sum);
    }
  }
  if (t.residual != nullptr) sum += load(t.residual + c * kBlock + lane);
  return activated(t, sum);
}

void any_tile(const DepthwiseTile& t) {
  for (int c = 0; c < t.cols; ++c) {
    for (int lane = 0; lane < kBlock; lane += kLanes) {
      store(t.output + c * kBlock + lane, any_pixel(t, c, lane));
    }
  }
}

template <int kKernel, int kStride, int kCols>
DepthwiseTileKernel find_cols(int cols) {
  if constexpr (kCols == 0) {
    return nullptr;
  } else {
    if (cols == kCols) return &depthwise_tile<kKernel, kStride, kCols>;
    return find_cols<kKernel, kStride, kCols - 1>(cols);
  }
}

template <int kKernel>
DepthwiseTileKernel find_stride(int stride, int cols) {
  if (stride == 1) return find_cols<kKernel, 1, kMostCols>(cols);
  if (stride == 2) return find_cols<kKernel, 2, kMostCols>(cols);
  return nullptr;
}

DepthwiseTileKernel find_tile(int kernel_cols, int stride, int cols) {
  if (kernel_cols == 3) return find_stride<3>(stride, cols);
  if (kernel_cols == 5) return find_stride<5>(stride, cols);
  if (kernel_cols == 7) return find_stride<7>(stride, cols);
  return nullptr;
}

}  // namespace

const DepthwiseTileSet kDepthwiseTiles = {kMostCols, &find_tile, &any_tile};

}  // namespace sluice::cpu::SLUICE_CPU_ISA
