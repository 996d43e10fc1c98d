// The 16-bit floats in memory: f16 is IEEE binary16, bf16 the upper half of a binary32.
#pragma once

#include <cstdint>

namespace sluice::ir {

float widen_f16(std::uint16_t bits);
float widen_bf16(std::uint16_t bits);

/// Both round to nearest, ties to even; what is too large becomes infinite.
std::uint16_t narrow_to_f16(float value);
std::uint16_t narrow_to_bf16(float value);

}  // namespace sluice::ir
