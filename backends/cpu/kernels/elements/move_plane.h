#pragma once

#include <cstdint>

#include "core/isa.h"

namespace sluice::cpu {

/// Elements of a plane that move from one strided arrangement to another. Strides in elements;
/// those of the source may be zero or negative.
struct PlaneMove {
  const void* from;
  void* to;
  std::int64_t from_row, from_col;
  std::int64_t to_row, to_col;
  std::int64_t rows, cols;
};

SLUICE_CPU_EACH_ISA(
    /// to[r * to_row + c * to_col] = from[r * from_row + c * from_col]. Requires: elements of 1, 2,
    /// 4, 8 or 16 bytes, and the target's do not overlap the source's.
    void move_plane(const PlaneMove& plane, std::int64_t element_bytes);)

}  // namespace sluice::cpu
