#pragma once

#include <cstdint>

#include "core/isa.h"

namespace sluice::cpu {

/// The first place from `from` on, in steps of some vectors, behind which such a step holds a
/// number beyond `bound`: above it, or below it if `is_largest` is false. `count` if there is none.
SLUICE_CPU_EACH_ISA(std::int64_t find_beyond(const float* x, std::int64_t from, std::int64_t count,
                                             float bound, bool is_largest);
                    /// Keeps the extremes of columns so far, and their places; `row` is at
                    /// `place`. A NaN is an extreme. An equal number wins if `takes_equal`.
                    void keep_extremes(const float* row, std::int64_t columns, std::int32_t place,
                                       bool is_largest, bool takes_equal, float* best,
                                       std::int32_t* places);)

/// Numbers that a step of `find_beyond` looks at.
inline constexpr std::int64_t kBeyondStep = 64;

}  // namespace sluice::cpu
