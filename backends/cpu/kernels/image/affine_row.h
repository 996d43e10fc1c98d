#pragma once

#include <cstdint>

#include "core/isa.h"

namespace sluice::cpu {

inline constexpr int kAffineRanks = 3;

SLUICE_CPU_EACH_ISA(
    /// output[i] = slopes[i % rank] * x[i] + rests[i % rank] for i < count.
    /// Requires: 1 <= rank <= kAffineRanks.
    void affine_row(const float* x, std::int64_t count, int rank, const float* slopes,
                    const float* rests, float* output);)

}  // namespace sluice::cpu
