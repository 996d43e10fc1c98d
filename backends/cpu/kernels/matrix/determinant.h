#pragma once

#include <cstdint>

#include "core/isa.h"

namespace sluice::cpu {

SLUICE_CPU_EACH_ISA(
    /// Of a matrix [n, n], by elimination with partial pivoting, which overwrites it.
    double determinant(double* a, std::int64_t n);)

}  // namespace sluice::cpu
