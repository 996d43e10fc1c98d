#pragma once

#include <cstdint>

#include "core/isa.h"

namespace sluice::cpu {

/// Bytes of the scale behind a rounded row, an f32 at any address.
inline constexpr std::int64_t kScaleBytes = sizeof(float);

SLUICE_CPU_EACH_ISA(
    /// sluice::RoundRows of one row (src/ops/nn/paged.cc has the formula): `size` numbers, then
    /// their scale.
    void round_row(const float* x, std::int64_t size, std::int8_t* y);)

}  // namespace sluice::cpu
