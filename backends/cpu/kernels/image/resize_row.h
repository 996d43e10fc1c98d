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

SLUICE_CPU_EACH_ISA(
    /// One row of one block of c16: `pixels` output pixels, each the input pixel that its tap
    /// names.
    void resize_row_nearest(const ResizeTap* taps, std::int64_t pixels, const float* row,
                            float* output);
    /// Likewise, between rows `first` and `second`.
    void resize_row_linear(const ResizeTap* taps, std::int64_t pixels, const float* first,
                           const float* second, float second_weight, float* output);)

}  // namespace sluice::cpu
