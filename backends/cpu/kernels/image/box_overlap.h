#pragma once

#include <cstdint>

#include "core/isa.h"

namespace sluice::cpu {

/// Corners in order, whichever way round a box was given.
struct Box {
  double top = 0;
  double left = 0;
  double bottom = 0;
  double right = 0;
  double area = 0;
};

/// Boxes side by side: a column per number of a Box.
struct BoxColumns {
  double* top = nullptr;
  double* left = nullptr;
  double* bottom = nullptr;
  double* right = nullptr;
  double* area = nullptr;
  std::int64_t count = 0;
};

SLUICE_CPU_EACH_ISA(
    /// Whether the intersection of `box` and one of `boxes` over their union is above `most`. Boxes
    /// without a common area count as 0.
    bool overlaps_any(const BoxColumns& boxes, const Box& box, double most);)

}  // namespace sluice::cpu
