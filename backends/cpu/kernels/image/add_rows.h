#pragma once

#include <cstdint>

#include "core/isa.h"

namespace sluice::cpu {

/// Rows of numbers, and where in an image they are added. Distances in floats.
struct AddedRows {
  const float* from = nullptr;
  /// Where to_step is 2, maybe: what the places between get, which lies as `from` does.
  const float* from_between = nullptr;
  float* to = nullptr;
  std::int64_t from_row = 0;  ///< from one row to the next
  std::int64_t to_row = 0;
  std::int64_t rows = 0;
  std::int64_t count = 0;    ///< numbers of a row
  std::int64_t to_step = 1;  ///< from one number of a row to the next in the image
  bool replaces = false;     ///< what is there by the number plus `bias`
  float bias = 0;
};

/// Numbers that belong to columns [begin, end) of a row of an image: from[i] to column i.
struct ShiftedRow {
  const float* from = nullptr;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// What is added to each of some rows of an image, one below the other. Distances in floats.
struct ShiftedRows {
  const ShiftedRow* added = nullptr;  ///< to the first row
  std::int64_t count = 0;             ///< at most kMostShiftedRows
  std::int64_t from_row = 0;          ///< from what is added to one row to the same of the next
  float* to = nullptr;
  std::int64_t to_row = 0;
  std::int64_t rows = 0;
  std::int64_t width = 0;
};
inline constexpr std::int64_t kMostShiftedRows = 32;

SLUICE_CPU_EACH_ISA(
    /// to[r * to_row + i] += from[r * from_row + i] of all that have column i < width, in their
    /// order. All sums of a column are made in a register.
    void add_shifted_rows(const ShiftedRows& shifted);
    /// to[r * to_row + i * to_step] += from[r * from_row + i], and likewise `from_between` one
    /// place further; or the same with = and the bias. The kernel may write the elements between as
    /// they were: no other worker may write the image meanwhile.
    void add_rows(const AddedRows& rows);)

}  // namespace sluice::cpu
