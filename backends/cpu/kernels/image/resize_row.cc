#include "kernels/image/resize_row.h"

#include "core/simd.h"
#include "kernels/conv/conv_tile.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

/// a + weight * (b - a): one rounding less than two products, and exactly `a` for weight 0.
SLUICE_CPU_INLINE Vec blend(Vec a, Vec b, Vec weight_of_b) { return fmadd(weight_of_b, b - a, a); }

}  // namespace

void resize_row_nearest(const ResizeTap* taps, std::int64_t pixels, const float* row,
                        float* output) {
  for (std::int64_t p = 0; p < pixels; ++p) {
    for (int lane = 0; lane < kBlock; lane += kLanes) {
      store(output + p * kBlock + lane, load(row + taps[p].first * kBlock + lane));
    }
  }
}

void resize_row_linear(const ResizeTap* taps, std::int64_t pixels, const float* first,
                       const float* second, float second_weight, float* output) {
  const Vec down = broadcast(second_weight);
  for (std::int64_t p = 0; p < pixels; ++p) {
    const std::int64_t left = taps[p].first * kBlock;
    const std::int64_t right = taps[p].second * kBlock;
    const Vec across = broadcast(taps[p].second_weight);
    for (int lane = 0; lane < kBlock; lane += kLanes) {
      const Vec top = blend(load(first + left + lane), load(first + right + lane), across);
      const Vec bottom = blend(load(second + left + lane), load(second + right + lane), across);
      store(output + p * kBlock + lane, blend(top, bottom, down));
    }
  }
}

/// The first neighbour fills the row, so that it needs no zeros before. Each further one is added.
void resize_between_rows(const ResizeWeights& rows, std::int64_t i, const float* plane,
                         std::int64_t width, float* output) {
  for (std::int64_t k = 0; k < rows.count; ++k) {
    const float weight = rows.weights[k * rows.size + i];
    const float* row = plane + rows.index[k * rows.size + i] * width;
    if (k == 0) {
      for (std::int64_t c = 0; c < width; ++c) output[c] = weight * row[c];
    } else {
      for (std::int64_t c = 0; c < width; ++c) output[c] += weight * row[c];
    }
  }
}

void resize_between_columns(const ResizeWeights& columns, const float* row, float* output) {
  for (std::int64_t k = 0; k < columns.count; ++k) {
    const std::int32_t* index = columns.index + k * columns.size;
    const float* weights = columns.weights + k * columns.size;
    if (k == 0) {
      for (std::int64_t i = 0; i < columns.size; ++i) output[i] = weights[i] * row[index[i]];
    } else {
      for (std::int64_t i = 0; i < columns.size; ++i) output[i] += weights[i] * row[index[i]];
    }
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
