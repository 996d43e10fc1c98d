#pragma once

#include <cstdint>

#include "core/isa.h"

namespace sluice::cpu {

/// The largest number of each window of some output rows of a plane. Windows are one pixel apart.
///
/// The rows under the windows are copied into a scratch plane that has the padding in it, where
/// windows are the same distance apart everywhere: whole vectors run on from row to row, and
/// narrow planes fill them. Distances in floats.
struct PoolPlane {
  const float* input = nullptr;  ///< of the first row that exists
  std::int64_t input_cols = 0;
  std::int64_t rows = 0;      ///< that exist
  std::int64_t pad_rows = 0;  ///< above them
  std::int64_t pad_cols = 0;  ///< to their left
  std::int64_t output_rows = 0;
  std::int64_t output_cols = 0;
  std::int64_t kernel_rows = 1;
  std::int64_t kernel_cols = 1;
  std::int64_t row_dilation = 1;
  std::int64_t col_dilation = 1;
  bool has_padding = false;  ///< an earlier call of the same sizes has left it in `padded`
  float* padded = nullptr;   ///< scratch of padded_floats
  float* joined = nullptr;   ///< scratch of joined_floats
  float* output = nullptr;

  /// From one row of the scratch planes to the next.
  std::int64_t pitch() const { return output_cols + (kernel_cols - 1) * col_dilation; }
  std::int64_t padded_rows() const { return output_rows + (kernel_rows - 1) * row_dilation; }
  std::int64_t padded_floats() const { return padded_rows() * pitch() + kBehind; }
  std::int64_t joined_floats() const { return output_rows * pitch() + kBehind; }

  static constexpr std::int64_t kBehind = 64;  ///< floats that whole vectors reach behind a plane
};

/// Requires: pad_cols + input_cols <= pitch() and pad_rows + rows <= padded_rows().
SLUICE_CPU_EACH_ISA(void pool_plane(const PoolPlane& plane);)

}  // namespace sluice::cpu
