#pragma once

#include <cstdint>

#include "core/isa.h"

namespace sluice::cpu {

/// Columns of a packed panel of B in f64.
inline constexpr std::int64_t kDoublePanel = 16;

/// A [rows, k] times a panel of B, into C or added to it. Distances in numbers.
struct DoubleTile {
  const double* a = nullptr;
  std::int64_t a_row = 0;
  std::int64_t a_step = 1;
  const double* b = nullptr;  ///< [k][kDoublePanel]
  std::int64_t k = 0;
  double* c = nullptr;
  std::int64_t c_row = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;  ///< of C, at most kDoublePanel
  bool adds = false;
};

/// alpha * y + beta * c, in place; c may be null.
struct DoubleScaling {
  double alpha = 1;
  double beta = 1;
  const double* c = nullptr;
  std::int64_t c_row = 0;
  std::int64_t c_step = 0;  ///< 0 or 1
};

SLUICE_CPU_EACH_ISA(void multiply_doubles(const DoubleTile& tile);
                    /// Of the numbers of C that the tile describes.
                    void scale_doubles(const DoubleTile& tile, const DoubleScaling& scaling);)

}  // namespace sluice::cpu
