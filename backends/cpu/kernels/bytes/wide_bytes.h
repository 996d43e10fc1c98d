#pragma once

#include <cstdint>

#include "core/isa.h"

namespace sluice::cpu {

// Bytes as numbers of 16 bits. A kernel that multiplies pairs of 16-bit numbers reads both factors
// in this form if a pair of products of bytes may not fit 16 bits: it widens no byte itself.

SLUICE_CPU_EACH_ISA(
    /// Widens numbers without sign.
    void widen_left(const std::uint8_t* bytes, std::int64_t count, std::uint16_t* wide);
    /// Widens a panel of numbers with sign. A vector of groups of four becomes two vectors: the
    /// first two numbers of each group, then the last two.
    /// Requires: `count` is a multiple of the bytes of a vector.
    void widen_panel(const std::int8_t* bytes, std::int64_t count, std::int16_t* wide);)

}  // namespace sluice::cpu
