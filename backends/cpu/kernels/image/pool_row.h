#pragma once

#include <cstdint>

#include "core/isa.h"

namespace sluice::cpu {

enum class PoolKind : std::int32_t {
  kMax,
  kAverage,
  kNorm1,  ///< sum of magnitudes
  kNorm2,  ///< root of the sum of squares
};

/// One output row of a pooling window over one plane, one block of 16 channels or one volume.
/// Distances in floats.
struct PoolRow {
  PoolKind kind = PoolKind::kMax;
  const float* input = nullptr;  ///< column 0 of the first row under the window that exists
  std::int64_t input_row = 0;    ///< from one kernel row to the next
  std::int64_t input_slice = 0;  ///< from one kernel slice to the next
  std::int64_t rows = 0;         ///< rows under the window that exist
  std::int64_t slices = 1;       ///< likewise; 1 of an image
  std::int64_t pixel = 1;        ///< 16 in c16, 1 in planes
  std::int64_t input_cols = 0;
  std::int64_t output_cols = 0;
  std::int64_t kernel_cols = 0;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pad_begin = 0;
  /// For an average: places of a column that the divisor counts, and columns of each output that it
  /// counts (count_columns).
  std::int64_t counted_rows = 0;
  const float* counted_cols = nullptr;
  std::int64_t padded_cols = 0;  ///< by padded_columns
  bool has_padding = false;      ///< an earlier row has left the padding in `columns`
  float* columns = nullptr;      ///< scratch of scratch_columns pixels
  float* output = nullptr;
};

/// Columns of a plane's scratch that has the padding in it, so that whole vectors of windows read
/// it without a bound. 0 where that would be far more than the image: then windows go one by one.
inline std::int64_t padded_columns(const PoolRow& row) {
  constexpr std::int64_t kMostLanes = 16;
  const std::int64_t vectors = (row.output_cols + kMostLanes - 1) / kMostLanes * kMostLanes;
  const double reach = static_cast<double>(row.pad_begin) +
                       static_cast<double>(vectors) * static_cast<double>(row.stride) +
                       static_cast<double>(row.kernel_cols) * static_cast<double>(row.dilation);
  if (row.pixel != 1 || reach > 4.0 * static_cast<double>(row.input_cols) + 1024) return 0;
  const std::int64_t image = row.pad_begin + row.input_cols;
  const std::int64_t windows =
      row.pad_begin + vectors * row.stride + row.kernel_cols * row.dilation + 2 * kMostLanes;
  return image > windows ? image : windows;
}

inline std::int64_t scratch_columns(const PoolRow& row) {
  return row.padded_cols > 0 ? row.padded_cols : row.input_cols;
}

SLUICE_CPU_EACH_ISA(  /// `count` rows of one geometry, each with `columns` of its own.
    void pool_rows(const PoolRow* rows, std::int64_t count);
    /// One result of each lane (pixel 16) or of all values (pixel 1).
    void pool_all(PoolKind kind, const float* input, std::int64_t pixels, std::int64_t pixel,
                  float* output);)

}  // namespace sluice::cpu
