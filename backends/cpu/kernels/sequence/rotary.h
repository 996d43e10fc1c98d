#pragma once

#include <cstdint>

#include "core/isa.h"

namespace sluice::cpu {

SLUICE_CPU_EACH_ISA(
    /// Turns pairs of numbers by angles of which cosines and sines are given, `half` of each:
    /// a' = cos a - sin b, b' = sin a + cos b. Pairs are (x[k], x[k + half]), or neighbours if
    /// `interleaved`. `y` may be `x`.
    void rotate_row(const float* x, const float* cosines, const float* sines, std::int64_t half,
                    bool interleaved, float* y);)

}  // namespace sluice::cpu
