#pragma once

#include <cstdint>

#include "core/isa.h"

namespace sluice::cpu {

/// Columns of a packed panel of B, of numbers of 4 or 8 bytes.
template <typename T>
inline constexpr std::int64_t kNumberPanel = 128 / static_cast<std::int64_t>(sizeof(T));

/// A [rows, k] times a panel of B, into C or added to it. Distances in numbers. T is double,
/// std::uint32_t or std::uint64_t; integers wrap, so those with a sign are multiplied as well.
template <typename T>
struct NumberTile {
  const T* a = nullptr;
  std::int64_t a_row = 0;
  std::int64_t a_step = 1;
  const T* b = nullptr;  ///< [k][kNumberPanel<T>]
  std::int64_t k = 0;
  T* c = nullptr;
  std::int64_t c_row = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;  ///< of C, at most kNumberPanel<T>
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

SLUICE_CPU_EACH_ISA(template <typename T> void multiply_numbers(const NumberTile<T>& tile);
                    /// Scales the numbers of C that the tile describes.
                    void scale_doubles(const NumberTile<double>& tile,
                                       const DoubleScaling& scaling);)

}  // namespace sluice::cpu
