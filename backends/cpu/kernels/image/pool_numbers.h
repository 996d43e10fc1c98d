#pragma once

#include <cstdint>

#include "core/isa.h"
#include "kernels/elements/typed.h"

namespace sluice::cpu {

/// The largest numbers of the windows in a row of windows, of a type other than f32. Distances in
/// elements.
struct NumberPoolRow {
  const void* input = nullptr;  ///< of the first row under the windows that exists
  std::int64_t input_row = 0;   ///< from one row under a window to the next
  std::int64_t rows = 0;        ///< under the windows, that exist
  std::int64_t input_cols = 0;
  std::int64_t output_cols = 0;
  std::int64_t kernel_cols = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pad_begin = 0;
  void* columns = nullptr;  ///< scratch of padded_cols()
  void* output = nullptr;

  /// Columns under all windows, with those of the padding.
  std::int64_t padded_cols() const {
    const std::int64_t under = (output_cols - 1) * stride + (kernel_cols - 1) * dilation + 1;
    return under > pad_begin + input_cols ? under : pad_begin + input_cols;
  }
};

/// NaN is the largest. A window in the padding alone gives the type's least number, or minus
/// infinity. Null for types other than i8, u8 and f64.
using PoolNumbers = void (*)(const NumberPoolRow& row);
SLUICE_CPU_EACH_ISA(PoolNumbers pool_numbers(Number type);)

}  // namespace sluice::cpu
