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

/// Along one axis of a row-major image: output i is the sum over k < count of weight(k, i) *
/// input[index[k * size + i]]. For floats the indices of one k do not descend. An axis that does
/// not change has no indices, and one of nearest neighbours has no weights.
struct ResizeWeights {
  const std::int32_t* index = nullptr;
  const float* weights = nullptr;
  const double* exact = nullptr;  ///< the same weights, for integers
  std::int64_t size = 0;          ///< of the output
  std::int64_t count = 0;         ///< neighbours of each output
};

/// Lanes of the widest vector.
inline constexpr std::int64_t kLeastNearest = 16;

SLUICE_CPU_EACH_ISA(
    /// sum[c] += weight * row[c], or without a sum before if `is_first`.
    void resize_add_row(const float* row, float weight, std::int64_t width, bool is_first,
                        float* sum);
    /// `count` rows of columns.size outputs, each of which is one input: of row rows[r] of `plane`.
    /// Requires: columns.size and `width` are at least kLeastNearest.
    void resize_nearest(const ResizeWeights& columns, const std::int32_t* rows, std::int64_t count,
                        const float* plane, std::int64_t width, float* output);
    /// A row of `columns.size` outputs between the columns of `row`, which has `width`; written to
    /// `copies` rows behind each other.
    void resize_between_columns(const ResizeWeights& columns, const float* row, std::int64_t width,
                                float* output, std::int64_t copies);
    /// The same of bytes, in doubles and with each product rounded, as the reference kernels do:
    /// results are cut to whole numbers, so that a last bit can be a step.
    void resize_add_row_u8(const std::uint8_t* row, double weight, std::int64_t width,
                           bool is_first, double* sum);
    void resize_add_row_i8(const std::int8_t* row, double weight, std::int64_t width, bool is_first,
                           double* sum);
    void resize_between_columns_u8(const ResizeWeights& columns, const double* row,
                                   std::int64_t width, std::uint8_t* output, std::int64_t copies);
    void resize_between_columns_i8(const ResizeWeights& columns, const double* row,
                                   std::int64_t width, std::int8_t* output, std::int64_t copies);
    /// One row of one block of c16: `pixels` output pixels, each the input pixel that its tap
    /// names.
    void resize_row_nearest(const ResizeTap* taps, std::int64_t pixels, const float* row,
                            float* output);
    /// Likewise, between rows `first` and `second`.
    void resize_row_linear(const ResizeTap* taps, std::int64_t pixels, const float* first,
                           const float* second, float second_weight, float* output);)

}  // namespace sluice::cpu
