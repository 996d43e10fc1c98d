#pragma once

#include <cstdint>

#include "core/isa.h"

namespace sluice::cpu {

/// The two input rows or columns that an output row or column lies between, and the weight of the
/// second. Nearest neighbours have the first only.
struct ResizeTap {
  std::int64_t first = 0;
  std::int64_t second = 0;
  float second_weight = 0;
};

/// Along one axis of a row-major image: output i is the sum over k < count of
/// weights[k * size + i] * input[index[k * size + i]].
struct ResizeWeights {
  const std::int32_t* index = nullptr;
  const float* weights = nullptr;
  std::int64_t size = 0;   ///< of the output
  std::int64_t count = 0;  ///< neighbours of each output
};

SLUICE_CPU_EACH_ISA(
    /// Output row `i` between the rows of a plane of `width` columns, all columns of the input.
    void resize_between_rows(const ResizeWeights& rows, std::int64_t i, const float* plane,
                             std::int64_t width, float* output);
    /// A row of `columns.size` outputs between the columns of `row`.
    void resize_between_columns(const ResizeWeights& columns, const float* row, float* output);
    /// One row of one block of c16: `pixels` output pixels, each the input pixel that its tap
    /// names.
    void resize_row_nearest(const ResizeTap* taps, std::int64_t pixels, const float* row,
                            float* output);
    /// Likewise, between rows `first` and `second`.
    void resize_row_linear(const ResizeTap* taps, std::int64_t pixels, const float* first,
                           const float* second, float second_weight, float* output);)

}  // namespace sluice::cpu
