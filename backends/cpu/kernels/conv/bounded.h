#pragma once

#include "core/simd.h"
#include "kernels/conv/conv_tile.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

/// NaN stays.
SLUICE_CPU_INLINE Vec bounded(Vec x, const Bounds& bounds) {
  return min(broadcast(bounds.high), max(broadcast(bounds.low), x));
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
