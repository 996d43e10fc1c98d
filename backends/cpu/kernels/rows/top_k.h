#pragma once

#include <cstdint>

#include "core/isa.h"

namespace sluice::cpu {

/// The first place from `from` on, in steps of some vectors, behind which such a step holds a
/// number beyond `bound`: above it, or below it if `is_largest` is false. `count` if there is none.
SLUICE_CPU_EACH_ISA(std::int64_t find_beyond(const float* x, std::int64_t from, std::int64_t count,
                                             float bound, bool is_largest);)

/// Numbers that a step of `find_beyond` looks at.
inline constexpr std::int64_t kBeyondStep = 64;

}  // namespace sluice::cpu
