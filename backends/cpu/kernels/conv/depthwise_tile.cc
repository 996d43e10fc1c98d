#include "kernels/conv/depthwise_tile.h"

#include "kernels/conv/bounded.h"
#include "kernels/conv/depthwise_row.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

/// The input rows that the output row behind this one reads first, under the tile's columns.
template <int kStride, int kCols>
SLUICE_CPU_INLINE void fetch_ahead(const DepthwiseTile& t) {
  const float* row = t.input + t.ahead;
  for (int r = 0; r < kStride; ++r, row += t.input_row) {
#pragma GCC unroll 28
    for (int i = 0; i < kCols * kStride; ++i) prefetch_to_l2(row + i * kBlock);
  }
}

/// What a store might change, for all that the compiler knows, is read before the first one.
template <int kCols>
SLUICE_CPU_INLINE void finish(const DepthwiseTile& t, int lane, Vec* sums) {
  if (t.residual != nullptr) {
#pragma GCC unroll 14
    for (int c = 0; c < kCols; ++c) sums[c] += load(t.residual + c * kBlock + lane);
  }
  const Bounds bounds = t.bounds;
  float* output = t.output + lane;
#pragma GCC unroll 14
  for (int c = 0; c < kCols; ++c) store(output + c * kBlock, bounded(sums[c], bounds));
}

template <int kCols>
SLUICE_CPU_INLINE void fetch_output(const DepthwiseTile& t) {
#pragma GCC unroll 28
  for (int c = 0; c < kCols; ++c) prefetch(t.output + (kCols + c) * kBlock);
}

struct FloatPixels {
  /// Largest number of columns whose sums fit the registers.
  static constexpr int kMaxCols = kVectorRegisters == 32 ? 14 : 8;
  using Kernel = DepthwiseTileKernel;

  template <int kKernel, int kStride, int kCols>
  static void run(const DepthwiseTile& t) {
    if (kStride > 1 && t.ahead != 0) fetch_ahead<kStride, kCols>(t);
    if (t.fetches_output) fetch_output<kCols>(t);
    for (int lane = 0; lane < kBlock; lane += kLanes) {
      Vec sums[kCols];
      const Vec bias = load(t.bias + lane);
#pragma GCC unroll 14
      for (int c = 0; c < kCols; ++c) sums[c] = bias;
      const float* x = t.input + lane;
      const float* w = t.weights + lane;
#pragma GCC unroll 1
      for (int r = 0; r < t.rows; ++r, x += t.input_row, w += kKernel * kBlock) {
        add_depthwise_row<kKernel, kStride, kCols>(
            t.first_column, t.end_column, [&](int i) { return load(x + i * kBlock); }, w, sums);
      }
      finish<kCols>(t, lane, sums);
    }
  }
};

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
  return bounded(sum, t.bounds);
}

void any_tile(const DepthwiseTile& t) {
  for (int c = 0; c < t.cols; ++c) {
    for (int lane = 0; lane < kBlock; lane += kLanes) {
      store(t.output + c * kBlock + lane, any_pixel(t, c, lane));
    }
  }
}

}  // namespace

const DepthwiseTileSet kDepthwiseTiles = {FloatPixels::kMaxCols, &find_depthwise<FloatPixels>,
                                          &any_tile};

}  // namespace sluice::cpu::SLUICE_CPU_ISA
