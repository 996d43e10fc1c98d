#pragma once

// Panels of B, for kernel sources that multiply with gemm_tile.h.

#include "core/transpose_lanes.h"
#include "kernels/matrix/gemm_tile.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

SLUICE_CPU_INLINE std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

SLUICE_CPU_INLINE std::int64_t panel_count(std::int64_t n) {
  return (n + kPanelWidth - 1) / kPanelWidth;
}

/// Columns of `panel`, and floats from one of its packed rows to the next.
SLUICE_CPU_INLINE std::int64_t panel_columns(std::int64_t n, std::int64_t panel) {
  return smaller(n - panel * kPanelWidth, kPanelWidth);
}

SLUICE_CPU_INLINE std::int64_t panel_row(std::int64_t columns) {
  return (columns + kLanes - 1) / kLanes * kLanes;
}

/// Copies `k` rows of `columns` neighbours, filling up with zeros to whole vectors.
SLUICE_CPU_INLINE void pack_rows(const float* b, std::int64_t b_row, std::int64_t k,
                                 std::int64_t columns, float scale, float* packed) {
  const std::int64_t row = panel_row(columns);
  const Vec factor = broadcast(scale);
  for (std::int64_t p = 0; p < k; ++p, b += b_row, packed += row) {
    std::int64_t j = 0;
    for (; j + kLanes <= columns; j += kLanes) store(packed + j, load(b + j) * factor);
    if (j < columns) store(packed + j, load_first(b + j, static_cast<int>(columns - j)) * factor);
  }
}

/// A square of them: `k` rows of `columns` columns, both at most kLanes.
template <typename Number>
SLUICE_CPU_INLINE void pack_square(const Number* b, std::int64_t b_column, std::int64_t k,
                                   std::int64_t columns, Vec factor, float* packed,
                                   std::int64_t row) {
  Vec square[kLanes];
  SLUICE_CPU_UNROLL
  for (int j = 0; j < kLanes; ++j) {
    square[j] = j >= columns  ? Vec{}
                : k == kLanes ? load(b + j * b_column)
                              : load_first(b + j * b_column, static_cast<int>(k));
  }
  transpose_lanes(square);
  for (int p = 0; p < k; ++p) store(packed + p * row, square[p] * factor);
}

/// The same from columns of floats or halves that are `b_column` apart and contiguous in `k`.
template <typename Number>
SLUICE_CPU_INLINE void pack_columns(const Number* b, std::int64_t b_column, std::int64_t k,
                                    std::int64_t columns, float scale, float* packed) {
  const std::int64_t row = panel_row(columns);
  const Vec factor = broadcast(scale);
  for (std::int64_t j = 0; j < columns; j += kLanes) {
    for (std::int64_t p = 0; p < k; p += kLanes) {
      pack_square(b + j * b_column + p, b_column, smaller(kLanes, k - p),
                  smaller(kLanes, columns - j), factor, packed + p * row + j, row);
    }
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
