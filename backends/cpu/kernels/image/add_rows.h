#pragma once

#include <cstdint>

#include "core/isa.h"

namespace sluice::cpu {

/// Rows of numbers, and where in an image they are added. Distances in floats.
struct AddedRows {
  const float* from = nullptr;
  float* to = nullptr;
  std::int64_t from_row = 0;  ///< from one row to the next
  std::int64_t to_row = 0;
  std::int64_t rows = 0;
  std::int64_t count = 0;    ///< numbers of a row
  std::int64_t to_step = 1;  ///< from one number of a row to the next in the image
};

SLUICE_CPU_EACH_ISA(
    /// to[r * to_row + i * to_step] += from[r * from_row + i]. Elements between these may be
    /// written as they were: no other worker may write them.
    void add_rows(const AddedRows& rows);)

}  // namespace sluice::cpu
