#pragma once

#include <cstdint>

#include "core/isa.h"

namespace sluice::cpu {

SLUICE_CPU_EACH_ISA(
    /// y[i] = the sum over p < k of a[i * k + p] * x[p], for i < rows.
    void dot_rows(const float* a, std::int64_t rows, std::int64_t k, const float* x, float* y);)

}  // namespace sluice::cpu
