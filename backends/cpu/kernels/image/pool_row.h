#pragma once

#include <cstdint>

#include "core/isa.h"

namespace sluice::cpu {

enum class PoolKind : std::int32_t { kMax, kAverage };

/// One output row of a pooling window over one plane or one block of 16 channels. Distances in
/// floats.
struct PoolRow {
  PoolKind kind = PoolKind::kMax;
  const float* input = nullptr;  ///< column 0 of the first row under the window that exists
  std::int64_t input_row = 0;    ///< from one kernel row to the next
  std::int64_t rows = 0;         ///< rows under the window that exist
  std::int64_t pixel = 1;        ///< 16 in c16, 1 in planes
  std::int64_t input_cols = 0;
  std::int64_t output_cols = 0;
  std::int64_t kernel_cols = 0;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pad_begin = 0;
  std::int64_t counted_rows = 0;   ///< of an average: rows that the divisor counts
  std::int64_t counted_begin = 0;  ///< of an average: columns from here ...
  std::int64_t counted_end = 0;    ///< ... to here that the divisor counts
  float* columns = nullptr;        ///< scratch of input_cols pixels
  float* output = nullptr;
};

SLUICE_CPU_EACH_ISA(void pool_row(const PoolRow& row);
                    /// Largest value or mean of each lane (pixel 16) or of all values (pixel 1).
                    void pool_all(PoolKind kind, const float* input, std::int64_t pixels,
                                  std::int64_t pixel, float* output);)

}  // namespace sluice::cpu
