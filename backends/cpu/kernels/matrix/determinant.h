#pragma once

#include <cstdint>

#include "core/isa.h"

namespace sluice::cpu {

SLUICE_CPU_EACH_ISA(
    /// Determinant of a matrix [n, n]; elimination with partial pivoting overwrites the matrix.
    double determinant(double* a, std::int64_t n);)

}  // namespace sluice::cpu
